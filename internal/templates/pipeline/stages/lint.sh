echo "nothing to complain about"

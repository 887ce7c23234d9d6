# Runs the script on stdin and says what is wrong with what it prints.
got=$(sh -s) || { echo "the script fails" >&2; exit 1; }
want=$(printf '1\n2\n3\n4\n5')
[ "$got" = "$want" ] && exit
echo "it prints $(printf '%s\n' "$got" | wc -l | tr -d ' ') lines; 5 are wanted" >&2
exit 1

# live-rate.sh: a service that is down.
echo "no route to the bank" >&2
exit 69

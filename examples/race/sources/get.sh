# get.sh FILE SECONDS: prints a file after a while; 1 when there is none.
set -u
sleep "$2"
if [ ! -r "$1" ]; then
	echo "$1 is not there" >&2
	exit 1
fi
cat "$1"

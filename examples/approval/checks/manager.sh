# manager.sh PAYEE AMOUNT FILE: approves (0) or refuses (1); 2 when it can't tell.
set -u
if [ ! -r "$3" ]; then
	echo "$3 can't be read" >&2
	exit 2
fi
while read -r blocked; do
	if [ "$blocked" = "$1" ]; then
		echo "$1 is blocked" >&2
		exit 1
	fi
done <"$3"
if [ "$2" -gt 1000 ]; then
	echo "$2 is more than 1000" >&2
	exit 1
fi
echo manager

# find.sh NAME FILE: prints what stands beside NAME in FILE; 1 when it is not there.
set -u
while read -r name value; do
	if [ "$name" = "$1" ]; then
		echo "$value"
		exit 0
	fi
done <"$2"
echo "$1 is not in $2" >&2
exit 1

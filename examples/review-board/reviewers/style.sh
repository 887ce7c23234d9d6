# style.sh FILE: no line has more than 60 characters.
set -u
if [ ! -r "$1" ]; then
	echo "$1 can't be read" >&2
	exit 2
fi
while IFS= read -r line || [ -n "$line" ]; do
	if [ "${#line}" -gt 60 ]; then
		echo "style: no"
		exit 0
	fi
done <"$1"
echo "style: yes"

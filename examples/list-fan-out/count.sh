# count.sh FILE: how many words FILE has.
set -u
if [ ! -r "$1" ]; then
	echo "$1 can't be read" >&2
	exit 1
fi
words=0
while read -r line || [ -n "$line" ]; do
	set -- $line
	words=$((words + $#))
done <"$1"
echo "$words"

# count.sh "count LEVEL" FILE: says how many lines of FILE begin with LEVEL.
set -eu
level=${1#count }
n=0
while read -r word _; do
	if [ "$word" = "$level" ]; then n=$((n + 1)); fi
done <"$2"
echo "$n lines are $level"

# lint.sh PROJECT: lets the shell read every script without running it; prints
# the names of those that are fine.
set -eu
cd "$1"
for script in *.sh; do
	sh -n "$script"
	echo "$script"
done

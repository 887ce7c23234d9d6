# tone.sh FILE: nothing is shouted. Empty drafts are beneath this reviewer.
set -u
if [ ! -s "$1" ]; then
	echo "$1 has no words in it" >&2
	exit 2
fi
if grep -q '!' "$1"; then
	echo "tone: no"
else
	echo "tone: yes"
fi

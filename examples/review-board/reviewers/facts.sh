# facts.sh FILE: every line with a number names a source in brackets.
set -u
[ -r "$1" ] || exit 2
if grep '[0-9]' "$1" | grep -qv '\[[^]]*\]'; then
	echo "facts: no"
else
	echo "facts: yes"
fi

# write.sh: makes one text of the facts on stdin; feedback that asks for a
# shorter text makes it leave out the second fact.
set -eu
text=
n=0
while IFS= read -r fact || [ -n "$fact" ]; do
	n=$((n + 1))
	case $n-${FEEDBACK-} in
	2-*shorter*) continue ;;
	esac
	text="$text${text:+. }$fact"
done
echo "$text."

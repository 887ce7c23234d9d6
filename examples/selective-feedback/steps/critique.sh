# critique.sh MAX_WORDS: judges the text on stdin and prints the verdict as JSON.
set -eu
text=$(cat)
words=$(($(echo "$text" | wc -w)))
case $text in
*Source:*) ;;
*)
	echo '{"verdict": "reject", "about": "facts", "feedback": "name a source"}'
	exit
	;;
esac
if [ "$words" -gt "$1" ]; then
	echo "{\"verdict\": \"reject\", \"about\": \"draft\", \"feedback\": \"shorter: $words words, at most $1\"}"
	exit
fi
echo '{"verdict": "accept"}'

# top.sh "top N" FILE: prints the N most frequent messages of FILE.
set -eu
n=${1#top }
cut -c 7- "$2" | sort | uniq -c | sort -k 1,1nr -k 2 | head -n "$n" | {
	line=
	while read -r times message; do
		line="$line${line:+, }$message (${times}x)"
	done
	echo "most frequent: $line"
}

#!/usr/bin/env bash
# What the GitHub Action runs: action.sh GRAPHRUN, with COMMAND, PATHS, ARGS and STRICT in
# the environment. PATHS and ARGS hold one word a line, so that words may have blanks.
set -euo pipefail
words=()
while IFS= read -r line; do
	[ -z "$line" ] || words+=("$line")
done <<<"$ARGS"
paths=()
while IFS= read -r line; do
	[ -z "$line" ] || paths+=("$line")
done <<<"$PATHS"
case $COMMAND in
validate) words=(--format github "--strict=$STRICT" ${words[@]+"${words[@]}"}) ;;
test | run) ;;
*)
	echo "graphrun: unknown command \"$COMMAND\" of the action: validate, test or run" >&2
	exit 2
	;;
esac
exec "$1" "$COMMAND" ${words[@]+"${words[@]}"} -- ${paths[@]+"${paths[@]}"}

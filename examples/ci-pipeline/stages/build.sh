# build.sh PROJECT OUT: joins library and program to one file in OUT; prints
# what it made as JSON.
set -eu
mkdir -p "$2"
cat "$1/lib.sh" "$1/main.sh" >"$2/greet.sh"
sum=$(sha256sum <"$2/greet.sh")
echo "{\"file\": \"greet.sh\", \"bytes\": $(($(wc -c <"$2/greet.sh"))), \"sha256\": \"${sum%% *}\"}"

. ./lib.sh
passed=0
expect() {
	if [ "$1" != "$2" ]; then
		echo "got '$1', want '$2'" >&2
		exit 1
	fi
	passed=$((passed + 1))
}
expect "$(greeting you)" "Hello, you!"
expect "$(greeting "two words")" "Hello, two words!"
echo "$passed"

greeting() {
	echo "Hello, $1!"
}

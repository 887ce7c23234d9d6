# test.sh PROJECT: runs every test_ function of test.sh; prints how many passed.
set -eu
cd "$1"
sh ./test.sh

# report.sh OUT: keeps the text on stdin in OUT/report.txt and prints it.
set -eu
mkdir -p "$1"
tee "$1/report.txt"

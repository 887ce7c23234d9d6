# calculate.sh TEXT: prints what TEXT comes to, in whole numbers with blanks
# around operators. The flow lets nothing but digits and operators through.
set -uf
result=$(expr $1 2>/dev/null) # 1 means that the result is 0
if [ $? -gt 1 ]; then
	echo "can't calculate $1" >&2
	exit 2
fi
echo "$1 = $result"

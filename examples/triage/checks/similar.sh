# similar.sh REPORT: how many of the known reports share its second word.
set -u
set -- $1
count=0
while read -r line || [ -n "$line" ]; do
	case " $line " in
	*" ${2-} "*) count=$((count + 1)) ;;
	esac
done <checks/reports.txt
echo "$count reports like it"

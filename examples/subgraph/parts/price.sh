# price.sh ARTICLE: what one of them costs.
case $1 in
lamp) echo 12.5 ;;
chair) echo 40 ;;
screw) echo 0.25 ;;
*)
	echo "no price for $1" >&2
	exit 1
	;;
esac

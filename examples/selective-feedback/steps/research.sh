# research.sh TOPIC: prints what is known about TOPIC, a fact a line. It names
# its source only when the feedback asks for it.
set -eu
echo "The $1 follow the moon"
echo "They rise twice a day"
case ${FEEDBACK-} in
*source*) echo "Source: harbour almanac" ;;
esac

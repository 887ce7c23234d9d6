echo "built at $(date +%H:%M)"

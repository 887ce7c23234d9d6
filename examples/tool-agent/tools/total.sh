# Reads {"amounts": [1,2]}, prints their sum.
sum=0
for n in $(tr -c '0-9' ' '); do sum=$((sum + n)); done
echo "$sum"

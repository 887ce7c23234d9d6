# Reads {"script":"…"} and lets the shell read the script without running it.
script=$(sed -e 's/^{"script":"//' -e 's/"}$//' -e 's/\\"/"/g')
printf '%b\n' "$script" | sh -n && echo fine

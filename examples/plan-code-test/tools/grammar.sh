# Reads {"script": "…"} and lets the shell read it without running it.
script=$(python3 -c 'import json,sys; print(json.load(sys.stdin)["script"])')
printf '%s\n' "$script" | sh -n && echo fine

# Reads {"article": "…"}, prints its price in cents.
case "$(cat)" in
  *'"bolt"'*) echo 25 ;;
  *'"nut"'*) echo 10 ;;
  *) echo "no such article" >&2; exit 1 ;;
esac

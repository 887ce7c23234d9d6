greeting "${1:-world}"

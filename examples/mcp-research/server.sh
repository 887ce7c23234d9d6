# Starts the reference server of the protocol: the file that MCP_SERVER names,
# or the package from npm, which takes a few seconds.
[ -n "$MCP_SERVER" ] && exec node "$MCP_SERVER" stdio
exec npx -y @modelcontextprotocol/server-everything stdio

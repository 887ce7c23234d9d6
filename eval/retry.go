package eval

// RetryScope returns the scope of the `when` of a retry block, which holds `error`.
func RetryScope() *Scope {
	return NewScope(map[string]Type{"error": Object(map[string]Type{
		"kind": String(), "message": String(), "node": String(), "attempt": Int(), "details": Any(),
	}, false)}, ScopeOptions{})
}

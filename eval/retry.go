package eval

// RetryScope is the scope of the `when` of a retry block: the error of the attempt.
func RetryScope() *Scope {
	return NewScope(map[string]Type{"error": Object(map[string]Type{
		"kind": String(), "message": String(), "node": String(), "attempt": Int(), "details": Any(),
	}, false)}, ScopeOptions{})
}

// The scope of conditions for approving tool calls.

package eval

// ApprovalScope returns the scope of a tool's `approve`: args and state.
func ApprovalScope() *Scope {
	return NewScope(map[string]Type{"args": Object(nil, true), "state": Object(nil, true)}, ScopeOptions{})
}

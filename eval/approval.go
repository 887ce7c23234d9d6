// What the condition sees under which a person approves a call of a tool.

package eval

// ApprovalScope is the scope of a tool's `approve`: the arguments of the call, and
// the state.
func ApprovalScope() *Scope {
	return NewScope(map[string]Type{"args": Object(nil, true), "state": Object(nil, true)}, ScopeOptions{})
}

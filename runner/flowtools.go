// The tools that a graph declares, without a run.

package runner

// Tools are the declarations of the graph's tools by name, templates rendered with
// its secrets, which stand in them in the clear. The error says which template needs
// a run, or which secret is not there.
func (f *Flow) Tools() (map[string]any, error) {
	secrets, err := readSecrets(f.tree.Graph)
	if err != nil {
		return nil, err
	}
	s := f.tree.Plan.NewState()
	s.SetSecrets(secrets)
	tools, _, err := s.Setup()
	return tools, err
}

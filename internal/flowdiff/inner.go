// The graphs within the files: what callers see of them are their questions.

package flowdiff

// graphs compares the graphs of both files, by name.
func (c *comparison) graphs() {
	for _, old := range c.before.Graph.Graphs {
		now := c.after.Graph.Inner(old.Ref())
		if now == nil {
			c.add("graph", "removed", old.Ref(), "", false, c.before.lineOf(old.Entry.Span))
			continue
		}
		for _, change := range Compare(old, now) {
			change.Breaking = change.Breaking && change.Kind == "question"
			change.Name = old.Ref() + "/" + change.Name
			c.found = append(c.found, change)
		}
	}
	for _, now := range c.after.Graph.Graphs {
		if c.before.Graph.Inner(now.Ref()) == nil {
			c.add("graph", "added", now.Ref(), "", false, c.after.lineOf(now.Entry.Span))
		}
	}
}

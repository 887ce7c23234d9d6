// The reference page of keys, generated from the table.

package spec

import (
	"fmt"
	"strings"
)

// Reference is a Markdown page with every key of the language and of the kinds
// of opts: what it takes, its default and what it does.
func Reference(opts Options) string {
	p := &page{}
	p.printf("# Keys of a graph file\n\nEvery key that the parser knows; `go test ./internal/docstest -update` writes this page. [The language](../language.md) says how they work together. Keys that begin with `x-` are yours, at any place where the language has keys of its own: graphrun ignores them.\n")
	p.section("Top level", "", TopKeys())
	p.section("Every node", "nodes.*", append([]Key{{Name: "kind", Type: TypeEnum, Enum: kindNames(allKinds(opts.Kinds)), Required: true, Doc: "The kind of the node."}}, nodeKeys()...))
	for _, kind := range allKinds(opts.Kinds) {
		p.printf("\n## Kind `%s`\n\n%s\n", kind.Name, kind.Doc)
		p.rows("nodes.*", kind.Keys, kind.Choices)
	}
	return p.text.String()
}

// page is Markdown under construction.
type page struct{ text strings.Builder }

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

func (p *page) section(title, path string, keys []Key) {
	p.printf("\n## %s\n", title)
	p.rows(path, keys, nil)
}

// rows writes the table of some keys, then those of the maps inside them.
func (p *page) rows(path string, keys []Key, choices []Choice) {
	if len(keys) > 0 {
		p.printf("\n| key | value | default | meaning |\n|---|---|---|---|\n")
	}
	for i := range keys {
		k := &keys[i]
		absent := k.Default
		if k.Required {
			absent = "required"
		}
		p.printf("| `%s` | %s | %s | %s |\n", k.Name, cell(expects(k)), cell(absent), cell(k.Doc))
	}
	for _, c := range choices {
		how, what := "At most one", "allowed"
		if c.Required {
			how, what = "Exactly one", "required"
		}
		p.printf("\n%s of `%s` is %s.\n", how, strings.Join(c.Keys, "`, `"), what)
	}
	for i := range keys {
		innerMaps(join(path, keys[i].Name), &keys[i], func(path string, inner *Key) {
			p.printf("\n### `%s`\n", path)
			if inner.Type == TypeSchema {
				p.printf("\nA JSON Schema, and:\n")
			}
			p.rows(path, inner.Keys, inner.Choices)
		})
	}
}

// sameKeys reports whether two maps have one table of keys.
func sameKeys(a, b []Key) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// cell makes a text safe inside a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// Reading test files.

package flowtest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// File is a test file that is ready to run.
type File struct {
	// Name is the path of the file, Flow the path of the flow under test.
	Name, Flow string
	Graph      *spec.Graph
	Cases      []*Case

	src      *spec.File
	defaults *spec.Value // may be nil
	cfg      Config
	found    spec.Diagnostics
	shape    spec.Diagnostics     // findings about unknown, missing and invalid keys
	plain    *prepared            // the flow without replaced nodes
	flows    map[string]*prepared // by replacement.key
}

// Load reads a test file and its flow. A file with errors among the findings must not be run. err
// is an error of the file system.
func Load(cfg Config, name string) (*File, spec.Diagnostics, error) {
	src, err := readFile(name)
	if err != nil {
		return nil, nil, err
	}
	return Parse(cfg, name, src)
}

// Parse is Load for a text in memory.
func Parse(cfg Config, name string, src []byte) (*File, spec.Diagnostics, error) {
	f := &File{Name: name, cfg: cfg, src: spec.NewFile(name, src)}
	root, found := spec.Read(name, src, "a test file is a map with the keys graphrun-test and cases", Keys())
	if root == nil {
		return nil, found, nil
	}
	f.found, f.shape = found, filterErrors(found)
	dropInvalid(root, f.shape) // the rest is checked, too
	at := root.Span
	f.Flow = flowOf(name)
	if flow := root.Get("flow"); flow != nil {
		at = flow.Span
		f.Flow = filepath.Join(filepath.Dir(name), filepath.FromSlash(flow.Text.Value))
	}
	text, err := readFile(f.Flow)
	if errors.Is(err, fs.ErrNotExist) {
		f.report(at, "invalid-value", "there is no flow %q", f.Flow)
		return nil, f.found.Sort(), nil
	}
	if err == nil {
		err = f.prepare(text)
	}
	if err != nil || f.plain == nil {
		return nil, f.found.Sort(), err
	}
	f.readCases(root)
	for _, c := range f.Cases {
		f.compile(c)
	}
	if len(f.shape) > 0 { // dropInvalid has removed parts
		return nil, f.found.Sort(), nil
	}
	return f, f.found.Sort(), nil
}

// prepare reads and checks the flow.
func (f *File) prepare(text []byte) error {
	check := f.cfg.Check
	if check == nil {
		check = f.checkFlow
	}
	g, found := check(f.Flow, text)
	if found.HasErrors() {
		f.found = append(f.found, filterErrors(found)...)
		return nil
	}
	f.Graph = g
	flow, invalid, err := f.prepareFlow(nil, nil)
	f.found = append(f.found, filterErrors(invalid)...)
	f.plain, f.flows = flow, map[string]*prepared{"": flow}
	return err
}

// prepareFlow prepares the flow with rewritten graphs. It returns nil and the findings if
// they are invalid.
func (f *File) prepareFlow(kept store.Store, rewrite func(string, *spec.Graph) *spec.Graph) (*prepared, spec.Diagnostics, error) {
	r, err := newRunner(&f.cfg, kept, rewrite)
	if err != nil {
		return nil, nil, err
	}
	flow, err := r.Prepare(f.Graph)
	if invalid, ok := errors.AsType[*runner.InvalidError](err); ok {
		return nil, invalid.Diagnostics, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return &prepared{r, flow}, nil, nil
}

func (f *File) checkFlow(path string, src []byte) (*spec.Graph, spec.Diagnostics) {
	g, found := spec.Parse(path, src, spec.Options{Kinds: specKinds(f.cfg.Kinds), Load: spec.Beside(path)})
	return g, append(found, spec.Check(g)...)
}

func specKinds(kinds []runner.Kind) []spec.Kind {
	return collect(kinds, func(k runner.Kind) spec.Kind { return k.Spec })
}

func filterErrors(found spec.Diagnostics) spec.Diagnostics {
	return slices.DeleteFunc(slices.Clone(found), func(d spec.Diagnostic) bool { return d.Severity != spec.Error })
}

// report adds a finding about the test file.
func (f *File) report(at spec.Span, rule, format string, args ...any) {
	f.found = append(f.found, spec.Diagnostic{
		File: f.src, Rule: rule, Severity: spec.Error, Span: at, Message: fmt.Sprintf(format, args...),
	})
}

// lineOf returns the line of a span, from 1.
func (f *File) lineOf(at spec.Span) int { return f.src.Position(at.From).Line }

// readCases reads the cases. Each row of a table becomes a case.
func (f *File) readCases(root *spec.Value) {
	mergedKeys := []string{"answers", "decide", "expect", "input", "run", "stubs", "tools"}
	f.defaults = root.Get("defaults")
	seen := map[string]bool{}
	list := root.Get("cases")
	if list == nil { // it has been reported
		return
	}
	for i := range list.Items {
		own := &list.Items[i]
		name := textOf(own.Get("name"))
		if name.IsSet() && seen[name.Value] {
			f.report(name.Span, "duplicate-key", "there is a case %q already; names of cases are unique in a file", name.Value)
		}
		seen[name.Value] = true
		whole := mergeValues(f.defaults, own, mergedKeys...)
		rows := own.Get("each")
		if rows == nil {
			f.addCase(name.Value, whole, own, own.Span)
			continue
		}
		for row := range rows.Items {
			value := &rows.Items[row]
			label := cmp.Or(textOf(value.Get("name")).Value, strconv.Itoa(row+1))
			f.addCase(name.Value+"/"+label, mergeValues(whole, value, mergedKeys...), own, value.Span)
		}
	}
}

func (f *File) addCase(name string, value, own *spec.Value, at spec.Span) {
	f.Cases = append(f.Cases, &Case{Name: name, Line: f.lineOf(at), value: value, own: own, at: at})
}

// textOf returns the text of a value, which may be nil.
func textOf(v *spec.Value) spec.Text {
	if v == nil {
		return spec.Text{}
	}
	return v.Text
}

// mergeValues adds to over the entries that only base has. It merges maps under some keys.
func mergeValues(base, over *spec.Value, keys ...string) *spec.Value {
	if base == nil {
		return over
	}
	out := *over
	out.Fields = slices.Clone(over.Fields)
	for _, field := range base.Fields {
		key := field.Key.Value
		i := slices.IndexFunc(out.Fields, func(f spec.Field) bool { return f.Key.Value == key })
		if i < 0 {
			out.Fields = append(out.Fields, field)
		} else if own := &out.Fields[i].Value; slices.Contains(keys, key) && own.Kind == spec.Map && field.Value.Kind == spec.Map {
			*own = *mergeValues(&field.Value, own)
		}
	}
	return &out
}

// reportUnknown reports an unknown name.
func (f *File) reportUnknown(at spec.Span, what, name string, known []string) {
	f.report(at, "unknown-node", "no %s %q", what, name)
	d := &f.found[len(f.found)-1]
	if d.Suggestion = suggest.Closest(name, known); d.Suggestion == "" && len(known) > 0 && len(known) <= 12 {
		slices.Sort(known)
		d.Message += " (" + what + "s: " + strings.Join(known, ", ") + ")"
	}
}

// collect applies a function to each item of a list.
func collect[T, U any](list []T, part func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = part(item)
	}
	return out
}

// dropInvalid removes the parts of a value with findings, so that the rest can be checked.
func dropInvalid(v *spec.Value, found spec.Diagnostics) {
	isBad := func(at spec.Span, isKey bool) bool {
		return slices.ContainsFunc(found, func(d spec.Diagnostic) bool {
			return d.Span.From == at.From && d.Rule != "missing-field" && (isKey || d.Rule != "unknown-key")
		})
	}
	v.Fields = slices.DeleteFunc(v.Fields, func(f spec.Field) bool { return isBad(f.Key.Span, true) || isBad(f.Value.Span, false) })
	v.Items = slices.DeleteFunc(v.Items, func(item spec.Value) bool { return isBad(item.Span, false) })
	for i := range v.Fields {
		dropInvalid(&v.Fields[i].Value, found)
	}
	for i := range v.Items {
		dropInvalid(&v.Items[i], found)
	}
}

// hasShapeError reports whether dropInvalid may have removed parts of a case.
func (f *File) hasShapeError(c *Case) bool {
	return slices.ContainsFunc(f.shape, func(d spec.Diagnostic) bool {
		in := func(at spec.Span) bool { return at.From <= d.Span.From && d.Span.From < at.To }
		return in(c.own.Span) || f.defaults != nil && in(f.defaults.Span)
	})
}

// Explanations of conditions: their parts, with the values that they read.

package eval

import (
	"slices"
	"strings"
)

// Reason explains a condition, or a part of one between and, or and not.
type Reason struct {
	// Source is the part's text.
	Source string `json:"source"`
	// Values is Source with values instead of names.
	Values string `json:"values,omitempty"`
	// Result is the value, or nil if the part was not evaluated or failed.
	Result any `json:"result"`
	// Evaluated is false if an earlier part decided the result.
	Evaluated bool `json:"evaluated"`
	// Op is "and", "or" or "not", or empty without Parts.
	Op    string   `json:"op,omitempty"`
	Parts []Reason `json:"parts,omitempty"`
}

// Explain evaluates a program part by part. show formats the value at a path of names and indexes.
func (v *VM) Explain(p *Program, env map[string]any, show func(path []any, v any) string) Reason {
	return v.explainPart(p, p.Tree, env, show)
}

func (v *VM) explainPart(p *Program, t *Tree, env map[string]any, show func(path []any, v any) string) Reason {
	op, parts := t.splitLogical()
	out := Reason{Source: p.SourceText(t), Op: op, Values: p.substituteValues(t, env, show), Evaluated: true}
	if op == "" {
		if result, err := v.evalTree(p, t, env); err == nil {
			out.Result, _ = p.convertResult(t, result)
		}
		return out
	}
	decided := false
	for _, part := range parts {
		if decided {
			op, _ := part.splitLogical()
			out.Parts = append(out.Parts, Reason{Source: p.SourceText(part), Op: op})
			continue
		}
		reason := v.explainPart(p, part, env, show)
		out.Parts, out.Result = append(out.Parts, reason), reason.Result
		result, isBool := reason.Result.(bool)
		decided = !isBool || result == (op == "or")
	}
	if result, isBool := out.Result.(bool); isBool && op == "not" {
		out.Result = !result
	}
	return out
}

// splitLogical returns the operator and, or or not of a part, and its operands: a and b and c
// has three. It returns "" for any other part, and for x not in y.
func (t *Tree) splitLogical() (op string, parts []*Tree) {
	isLogical := t.Op == TreeUnary && t.Name == "not" || t.Op == TreeBinary && (t.Name == "and" || t.Name == "or")
	if !isLogical || t.isLet || slices.ContainsFunc(t.Args, func(a *Tree) bool { return a.from <= t.from && a.to >= t.to }) {
		return "", nil
	}
	for _, a := range t.Args {
		if op, inner := a.splitLogical(); op == t.Name && op != "not" {
			parts = append(parts, inner...)
		} else {
			parts = append(parts, a)
		}
	}
	return t.Name, parts
}

// SourceText returns the text of a part of the program.
func (p *Program) SourceText(t *Tree) string { return strings.TrimSpace(p.Source[t.from:t.to]) }

// pathSpan is the span in which the source reads a path of constant names and indexes.
type pathSpan struct {
	from, to int
	keys     []any
}

// substituteValues returns the source of a part with values instead of names.
func (p *Program) substituteValues(t *Tree, env map[string]any, show func(path []any, v any) string) string {
	var b strings.Builder
	at := t.from
	for _, r := range p.pathSpans {
		if r.from < at || r.to > t.to {
			continue
		}
		b.WriteString(p.Source[at:r.from])
		b.WriteString(show(r.keys, readPath(env, r.keys)))
		at = r.to
	}
	b.WriteString(p.Source[at:t.to])
	return strings.TrimSpace(b.String())
}

// String returns the part in one line: confidence >= 0.8 → 0.62 >= 0.8 → false.
func (t *Reason) String() string {
	out, result := t.Source+" → ", ResultText(t.Result)
	switch {
	case !t.Evaluated:
		return out + "not evaluated"
	case len(t.Parts) == 0 && (t.Values == t.Source || t.Values == result):
		return out + result
	case len(t.Parts) == 0:
		return out + t.Values + " → " + result
	}
	texts := make([]string, len(t.Parts))
	for i := range t.Parts {
		texts[i] = t.Parts[i].String()
		if len(t.Parts[i].Parts) > 0 {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	return out + result + ": " + strings.Join(texts, ", ")
}

// ResultText formats the result of a part. It returns "null" for nil.
func ResultText(v any) string {
	if v == nil {
		return "null"
	}
	return Text(v)
}

// Why a condition came out as it did: its parts, with the values they read.

package eval

import (
	"cmp"
	"slices"
	"strings"
)

// Reason is a condition, or a part of one that and, or and not join.
type Reason struct {
	// Source is the part's text.
	Source string
	// Op is "and", "or" or "not" for what is made of Parts; else empty.
	Op string
	// Values is Source with the values that it read in the place of their names.
	Values string
	// Result is the part's value; nil when it was not evaluated, or failed.
	Result any
	// Evaluated is false when an earlier part had decided already.
	Evaluated bool
	Parts     []Reason
}

// outline is how a program falls into parts. It is made once.
type outline struct {
	from, to int
	op       string
	args     []*outline
	program  *Program // of what has no args
}

// Explain evaluates a program part by part. show writes the value that was read
// from a path of names and indexes.
func (v *VM) Explain(p *Program, env map[string]any, show func(path []any, v any) string) Reason {
	c := p.runs()
	o := c.outline.Load()
	if o == nil {
		o = p.split(c)
		c.outline.Store(o)
	}
	return v.reason(p, o, env, show)
}

func (v *VM) reason(p *Program, o *outline, env map[string]any, show func(path []any, v any) string) Reason {
	out := Reason{Source: strings.TrimSpace(p.src[o.from:o.to]), Op: o.op, Values: p.substituted(o.from, o.to, env, show), Evaluated: true}
	if o.op == "" {
		if result, err := v.Eval(o.program, env); err == nil {
			out.Result = result
		}
		return out
	}
	decided := false
	for _, arg := range o.args {
		if decided {
			out.Parts = append(out.Parts, Reason{Source: strings.TrimSpace(p.src[arg.from:arg.to]), Op: arg.op})
			continue
		}
		part := v.reason(p, arg, env, show)
		out.Parts, out.Result = append(out.Parts, part), part.Result
		result, isBool := part.Result.(bool)
		decided = !isBool || result == (o.op == "or")
	}
	if result, isBool := out.Result.(bool); isBool && o.op == "not" {
		out.Result = !result
	}
	return out
}

// split finds the parts of a program. Where one can't stand alone, such as what
// follows a let, the whole is one part.
func (p *Program) split(c *code) *outline {
	if o := p.splitSpan(c, c.from, c.to); o != nil {
		return o
	}
	return &outline{to: len(p.src), program: p}
}

func (p *Program) splitSpan(c *code, from, to int) *outline {
	if s := c.joint(from, to); s != nil {
		o := &outline{from: from, to: to, op: operatorName(s.op)}
		for i := range s.args {
			arg := p.splitSpan(c, s.args[i].from, s.args[i].to)
			if arg == nil {
				return nil
			}
			if arg.op == o.op && o.op != "not" { // a and b and c has three parts
				o.args = append(o.args, arg.args...)
			} else {
				o.args = append(o.args, arg)
			}
		}
		return o
	}
	program, err := p.scope.Compile(p.src[from:to], Value)
	if err != nil {
		return nil
	}
	return &outline{from: from, to: to, program: program}
}

// joint is the and, or or not that spans that text; nil: there is none.
func (c *code) joint(from, to int) *site {
	for i := range c.sites {
		s := &c.sites[i]
		switch operatorName(s.op) {
		case "and", "or", "not":
		default:
			continue
		}
		inside := !slices.ContainsFunc(s.args, func(o place) bool { return o.from <= from && o.to >= to })
		if s.from == from && s.to == to && inside {
			return s
		}
	}
	return nil
}

// place is a part of an expression: where it stands, and the path that it reads
// when it is one of constant names and indexes.
type place struct {
	from, to int
	keys     []any
}

// substituted is a part of the source with values in the place of names.
func (p *Program) substituted(from, to int, env map[string]any, show func(path []any, v any) string) string {
	var b strings.Builder
	at := from
	for _, r := range p.runs().places {
		if r.from < at || r.to > to {
			continue
		}
		value := lookup(env, r.keys)
		b.WriteString(p.src[at:r.from])
		b.WriteString(show(r.keys, value))
		at = r.to
	}
	b.WriteString(p.src[at:to])
	return strings.TrimSpace(b.String())
}

// sortPlaces puts the outermost first where one contains another.
func sortPlaces(places []place) []place {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	return places
}

// String tells the part in one line: confidence >= 0.8 → 0.62 >= 0.8 → false.
func (t *Reason) String() string {
	switch {
	case !t.Evaluated:
		return t.Source + " → not evaluated"
	case len(t.Parts) == 0:
		return t.line()
	}
	texts := make([]string, len(t.Parts))
	for i := range t.Parts {
		texts[i] = t.Parts[i].String()
		if len(t.Parts[i].Parts) > 0 {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	return t.Source + " → " + ResultText(t.Result) + ": " + strings.Join(texts, ", ")
}

// line is the part without those it is made of.
func (t *Reason) line() string {
	result := ResultText(t.Result)
	if t.Values == t.Source || t.Values == result {
		return t.Source + " → " + result
	}
	return t.Source + " → " + t.Values + " → " + result
}

// ResultText writes what a part came to; nil is one that failed.
func ResultText(v any) string {
	if v == nil {
		return "null"
	}
	return Text(v)
}

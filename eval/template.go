// Templates: text with {{ expressions }}.

package eval

import (
	"errors"
	"strings"
)

// Template is a compiled template, safe for concurrent use.
type Template struct {
	ReadSet
	// Parts are its pieces in order. They must not be changed.
	Parts []Part
}

// Part is a piece of a template: text, or an expression.
type Part struct {
	// Text is the literal text, if Program is nil.
	Text    string
	Program *Program
	// From and To are the bytes of the expression in the template's source, without
	// braces, white space and question mark.
	From, To int
	// Optional marks a path with a question mark: it is empty if a part is missing.
	Optional bool
}

// Template compiles text with {{ expr }} parts against a scope. Single braces are plain text. It
// returns an error for each faulty part, at most twenty.
func (s *Scope) Template(src string) (*Template, []*Error) {
	t := &Template{ReadSet: ReadSet{roots: s.opts.Roots}}
	var reads []Read
	var errs []*Error
	for at := 0; at < len(src) && len(errs) < 20; {
		open := strings.Index(src[at:], "{{")
		if open < 0 {
			t.Parts = append(t.Parts, Part{Text: src[at:]})
			break
		}
		if open += at; open > at {
			t.Parts = append(t.Parts, Part{Text: src[at:open]})
		}
		end, err := findClosingBraces(src, open)
		if err != nil {
			errs = append(errs, err)
			break
		}
		if part, err := s.compilePart(src, open+2, end); err != nil {
			errs = append(errs, err)
		} else {
			reads = append(reads, part.Program.Reads...)
			t.Parts = append(t.Parts, part)
		}
		at = end + 2
	}
	if errs != nil {
		return nil, errs
	}
	t.Reads = sortReads(reads)
	return t, nil
}

// findClosingBraces returns the offset of the }} that ends the expression opened at open. It skips
// strings, comments, and the braces of objects and predicates.
func findClosingBraces(src string, open int) (int, *Error) {
	depth := 0
	for i := open + 2; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\'', c == '"', c == '`', strings.HasPrefix(src[i:], "/*"):
			end, closed := skipOpaque(src, i)
			if !closed {
				return 0, notClosedError(src, i)
			}
			i = end - 1
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case strings.HasPrefix(src[i:], "}}"):
			return i, nil
		}
	}
	return 0, syntaxAt(open, open+2, `"{{" is not closed by "}}"`)
}

// compilePart compiles the expression between the braces at start and end.
func (s *Scope) compilePart(src string, start, end int) (Part, *Error) {
	const space = " \t\r\n"
	trimmed := strings.TrimLeft(src[start:end], space)
	from := end - len(trimmed)
	trimmed, optional := strings.CutSuffix(strings.TrimRight(trimmed, space), "?")
	trimmed = strings.TrimRight(trimmed, space)
	to := from + len(trimmed)
	if trimmed == "" {
		return Part{}, syntaxAt(start-2, end+2, "expression is empty")
	}
	p, err := s.Compile(trimmed, Value)
	if optional && err != nil && err.Rule == RuleType {
		p, err = s.compileOptionalPath(trimmed, err)
	}
	if err != nil {
		err.From, err.To = err.From+from, err.To+from
		return Part{}, err
	}
	if optional && p.Path() == nil {
		return Part{}, syntaxAt(to, to+1, "a question mark is for paths such as input.feedback?; use ?? for a default")
	}
	return Part{Program: p, From: from, To: to, Optional: optional}, nil
}

// compileOptionalPath compiles an optional path and ignores the type of its root, because the path is
// empty if one of its parts is not an object.
func (s *Scope) compileOptionalPath(path string, fault *Error) (*Program, *Error) {
	end := strings.IndexFunc(path, func(r rune) bool { return !isWordRune(r) || r == '.' || r == '-' })
	if end <= 0 || s.opts.Refuse[path[:end]] != "" {
		return nil, fault
	}
	p, err := s.With(map[string]Type{path[:end]: Any()}, nil).Compile(path, Value)
	if err != nil || p.Path() == nil {
		return nil, fault
	}
	return p, nil
}

// Type returns the static type of the rendered value: a string, unless the template is
// exactly one expression.
func (t *Template) Type() Type {
	switch p := t.soleExpression(); {
	case p == nil:
		return String()
	case p.Optional:
		return Any()
	default:
		return p.Program.Type()
	}
}

// soleExpression returns the only part of the template if it is an expression, or nil.
func (t *Template) soleExpression() *Part {
	if len(t.Parts) == 1 && t.Parts[0].Program != nil {
		return &t.Parts[0]
	}
	return nil
}

// Render evaluates a template over an environment. A template that is exactly one
// expression keeps the value's type; others are text. A path that is missing or null is an
// error, or "" if it is optional. With parts, a text with images, files or audio is a list of
// texts and parts, in order. The error is a *Error with offsets into the source.
func (v *VM) Render(t *Template, env map[string]any, parts bool) (any, error) {
	if p := t.soleExpression(); p != nil {
		return v.evalPart(p, env, true)
	}
	var b strings.Builder
	var done []any // the texts and parts before b
	for i := range t.Parts {
		p := &t.Parts[i]
		pieces, media := []any{p.Text}, false
		if p.Program != nil {
			out, err := v.evalPart(p, env, false)
			if err != nil {
				return nil, err
			}
			if parts {
				pieces, media = SplitPieces(out)
			}
			if !media {
				if _, err = treeSize(out, max(maxRendered-b.Len(), 1)); err != nil {
					return nil, errorAt("", p.From, p.To, "the text gets larger than 64 MiB")
				}
				pieces = []any{Text(out)}
			}
		}
		if done = appendPieces(done, &b, pieces); b.Len() > maxRendered {
			return nil, errorAt("", p.From, p.To, "the text gets larger than 64 MiB")
		}
	}
	if done == nil {
		return b.String(), nil
	}
	if b.Len() > 0 {
		done = append(done, b.String())
	}
	return done, nil
}

// evalPart evaluates one expression of a template.
func (v *VM) evalPart(p *Part, env map[string]any, alone bool) (any, error) {
	if keys := p.Program.Path(); keys != nil {
		out := readPath(env, keys)
		if out == nil && v.Before != nil {
			out = readPath(v.Before(p.Program, env), keys)
		}
		if out != nil {
			return out, nil
		}
		if p.Optional {
			return "", nil
		}
		return nil, errorAt("", p.From, p.To, "%q is missing or null; write {{ %s? }} if it may be", p.Program.Source, p.Program.Source)
	}
	out, err := v.Eval(p.Program, env)
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.From, failed.To = failed.From+p.From, failed.To+p.From
		return nil, failed
	}
	if out == nil && !alone {
		return nil, errorAt("", p.From, p.To, "%q is null; use ?? for a default", p.Program.Source)
	}
	return out, nil
}

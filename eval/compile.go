// From source to program: scan, parse, check and lower, compile.

package eval

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker/nature"
	libcompiler "github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Want says what an expression is for.
type Want int

// The uses of an expression: any value, or a condition, which must be boolean.
const (
	Value Want = iota + 1
	Condition
)

// Compile checks an expression against the scope and compiles it. Condition
// refuses what can't be boolean; a result of unknown type is checked when it
// runs. The program may be shared between goroutines.
func (s *Scope) Compile(src string, want Want) (*Program, *Error) {
	text, err := newSource(src)
	if err != nil {
		return nil, err
	}
	cfg := newConfig()
	tree, err := parse(text, cfg)
	if err != nil {
		return nil, err
	}
	c := &checker{scope: s, src: text, seen: map[ast.Node]bool{}}
	syntax := tree.Node
	result := c.value(syntax)
	if c.err == nil && want == Condition && !result.may(kindBool) {
		c.fail(RuleNotBoolean, result.from, result.to, "condition must be boolean, this is %s", article(result.typ))
	}
	if c.err != nil {
		return nil, c.err
	}
	tree.Node = result.node
	var code *vm.Program
	var late func() *vm.Program
	if s.lazy {
		late = sync.OnceValue(func() *vm.Program {
			code, _ := assemble(tree, cfg, text)
			return code
		})
	} else if code, err = assemble(tree, cfg, text); err != nil {
		return nil, err
	}
	return &Program{
		src: src, code: code, late: late, typ: result.typ, reads: c.reads.sorted(), roots: s.roots,
		sites: c.sites, keys: result.keys, plain: result.isPath(),
		scope: s, syntax: syntax,
		from: result.from, to: result.to, places: sortPlaces(c.places),
	}, nil
}

// newConfig is the parser's and compiler's configuration. It is built for each
// compilation because the library caches types in it, unguarded. Names and
// functions stay out of it: they are resolved here, and a key named filter must
// not change how filter(…) parses.
func newConfig() *conf.Config {
	return &conf.Config{
		MaxNodes:     maxNodes,
		Optimize:     true,
		ShortCircuit: true,
		Env: nature.Nature{
			Type:     reflect.TypeFor[map[string]any](),
			Kind:     reflect.Map,
			TypeData: &nature.TypeData{},
		},
	}
}

// parse never reuses a parser: its error handling leaves it unusable. It
// panics on some malformed input, after having found the error.
func parse(text *source, cfg *conf.Config) (tree *parser.Tree, err *Error) {
	defer func() {
		if r := recover(); r != nil {
			tree, err = nil, &Error{Rule: RuleSyntax, To: len(text.text), Message: "malformed expression"}
		}
	}()
	if text.skipSpace(0) == len(text.text) {
		return nil, &Error{Rule: RuleSyntax, To: len(text.text), Message: "expression is empty"}
	}
	tree, perr := parser.ParseWithConfig(text.text, cfg)
	if perr != nil {
		return nil, syntaxError(text, perr)
	}
	return tree, nil
}

// syntaxError puts the parser's first error into our words.
func syntaxError(text *source, err error) *Error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return &Error{Rule: RuleSyntax, To: len(text.text), Message: "malformed expression"}
	}
	out := &Error{Rule: RuleSyntax, From: text.bytes(fe.From), To: text.bytes(fe.To), Message: lowerFirst(fe.Message)}
	out.To = max(out.To, out.From)
	switch found, ok := strings.CutPrefix(fe.Message, "unexpected token "); {
	case found == "EOF":
		out.From, out.To = len(text.text), len(text.text)
		out.Message = "unexpected end of the expression"
		if at := text.unclosed(); at >= 0 {
			out.From, out.To = at, at+1
			out.Message = fmt.Sprintf("%q is not closed", text.text[at:at+1])
		}
	case ok:
		token := text.text[out.From:out.To]
		out.Message = fmt.Sprintf("unexpected %q%s", token, tokenHint(token))
	case strings.Contains(fe.Message, "maximum allowed nodes"):
		out.From, out.To = 0, len(text.text)
		out.Message = fmt.Sprintf("expression has more than %d parts", maxNodes)
	case fe.Message == "expected name":
		out.Message = fmt.Sprintf("expected a name, found %q", text.text[out.From:out.To])
	case strings.HasPrefix(fe.Message, "Operator ("):
		out.Message = "?? next to another operator needs parentheses"
	case strings.Contains(fe.Message, "strconv."):
		out.From, out.To = numberBefore(text.text, out.From)
		out.Message = text.text[out.From:out.To] + " is out of the range of numbers"
	case strings.HasPrefix(fe.Message, "unrecognized character"):
		out.Message = fmt.Sprintf("unexpected character %q", text.text[out.From:out.To])
	}
	return out
}

// numberBefore finds the number literal that ends at or before an offset: the
// parser notices its size only at the next token.
func numberBefore(src string, at int) (from, to int) {
	isPart := func(r rune) bool { return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at < len(src) && isPart(rune(src[at])) {
		at++
	}
	to = strings.LastIndexFunc(src[:at], isPart) + 1
	from = strings.LastIndexFunc(src[:to], func(r rune) bool { return !isPart(r) }) + 1
	if from >= to { // it is the token itself
		return at, len(src)
	}
	return from, to
}

// tokenHint helps with what other languages write.
func tokenHint(token string) string {
	switch token {
	case "=":
		return `; write == to compare`
	case "if":
		return `; write condition ? value : other`
	case "is":
		return `; write == to compare`
	case "&":
		return `; write and`
	case ":":
		return `; write ({...}) for an object inside a predicate`
	}
	return ""
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	s, _, _ = strings.Cut(s, "\n")
	return strings.ToLower(s[:1]) + s[1:]
}

// assemble compiles the lowered tree and turns calls of charged functions into
// the instruction that charges them.
func assemble(tree *parser.Tree, cfg *conf.Config, text *source) (code *vm.Program, err *Error) {
	internal := &Error{Rule: RuleSyntax, To: len(text.text), Message: "expression can't be compiled"}
	defer func() {
		if r := recover(); r != nil {
			code, err = nil, internal
		}
	}()
	code, cerr := libcompiler.Compile(tree, cfg)
	if cerr != nil {
		return nil, internal
	}
	for i := 0; i+1 < len(code.Bytecode); i++ {
		if code.Bytecode[i] != vm.OpPush || code.Bytecode[i+1] != vm.OpCall {
			continue
		}
		if _, ok := code.Constants[code.Arguments[i]].(vm.SafeFunction); ok {
			code.Bytecode[i+1] = vm.OpCallSafe
		}
	}
	return code, nil
}

// Program is a compiled expression, safe for concurrent use.
type Program struct {
	src   string
	code  *vm.Program        // nil: ask late
	late  func() *vm.Program // nil when even that fails, which is a defect
	typ   Type
	reads []Read
	roots []string
	sites []site
	keys  []any // the path, when the whole expression is one: names and indexes
	plain bool  // the result is part of the environment, so canonical already

	scope  *Scope   // what the names of syntax mean
	syntax ast.Node // as parsed, for Tree
	tree   atomic.Pointer[Tree]

	from, to int     // the expression without what is around it
	places   []place // where paths are read, for Explain
	outline  atomic.Pointer[outline]
}

// Source is the text that was compiled.
func (p *Program) Source() string { return p.src }

// Type is what is known of the result.
func (p *Program) Type() Type { return p.typ }

// Reads are the paths that an evaluation may read, sorted. The slice is the
// program's own.
func (p *Program) Reads() []Read { return p.reads }

// Uses reports whether an evaluation may read the top-level name.
func (p *Program) Uses(name string) bool { return uses(p.reads, p.roots, name) }

// Whole reports whether an evaluation may read the top-level name as a whole or
// by a computed key, so that no part of it can be left out.
func (p *Program) Whole(name string) bool { return whole(p.reads, p.roots, name) }

// Path is the path of a program that only reads one, such as input.items[0]:
// names and indexes; nil for other programs.
func (p *Program) Path() []any { return p.keys }

// Const returns the value of a program that reads nothing; not ok when it
// reads something or fails.
func (p *Program) Const() (value any, ok bool) {
	if len(p.reads) > 0 {
		return nil, false
	}
	value, err := new(VM).Eval(p, nil)
	return value, err == nil
}

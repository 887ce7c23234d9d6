// A quick parser of what most expressions are made of: names and their members,
// literals, operators, lists, choices and calls. It yields the library's tree, node for
// node, or gives up; the library's parser then decides, also about all errors.

package eval

import (
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/operator"
	"github.com/expr-lang/expr/parser/utils"
)

// plainParser holds the room that it needs for the next expression too.
type plainParser struct {
	tokens []token
	next   int
	count  int // nodes made
	gaveUp bool
	list   []ast.Node // elements of the lists that are open
	lists  []ast.Node // those of the lists that are done
	made   plainNodes
}

// parse returns nil when the expression is not plain. The tree is of use until
// the next parse, which takes its nodes.
func (p *plainParser) parse(src string) ast.Node {
	p.tokens, p.next, p.count, p.gaveUp = p.tokens[:0], 0, 0, false
	p.list, p.lists = p.list[:0], p.lists[:0]
	p.made.rewind()
	if !p.scan(src) {
		return nil
	}
	n := p.expression(0)
	if p.gaveUp || p.token().kind != tokenEnd || p.count > maxNodes {
		return nil
	}
	return n
}

func (p *plainParser) token() *token { return &p.tokens[p.next] }

// is reports whether the next token is that operator or bracket.
func (p *plainParser) is(sign string) bool {
	t := p.token()
	return t.kind == tokenSign && t.text == sign
}

// skip takes the next token, if any is left.
func (p *plainParser) skip() { p.next = min(p.next+1, len(p.tokens)-1) }

func (p *plainParser) expect(sign string) {
	if !p.is(sign) {
		p.gaveUp = true
	}
	p.skip()
}

func (p *plainParser) giveUp() ast.Node {
	p.gaveUp = true
	return nil
}

// put places a new node.
func (p *plainParser) put(n ast.Node, at file.Location) ast.Node {
	p.count++
	n.SetLocation(at)
	return n
}

// expression follows parser.parseExpression of the library.
func (p *plainParser) expression(precedence int) ast.Node {
	if p.gaveUp {
		return nil
	}
	left := p.primary()
	before := ""
	for !p.gaveUp && p.token().kind == tokenSign {
		start, negated := p.next, p.is("not")
		if negated {
			if p.skip(); !operator.AllowedNegateSuffix(p.token().text) {
				return p.giveUp()
			}
		}
		op := *p.token()
		rule, isBinary := operator.Binary[op.text]
		if !isBinary || rule.Precedence < precedence {
			p.next = start
			break
		}
		p.skip()
		switch {
		case before == "??" && op.text != "??":
			return p.giveUp()
		case operator.IsComparison(op.text):
			left = p.comparison(left, op, rule.Precedence)
		default:
			tighter := rule.Precedence
			if rule.Associativity == operator.Left {
				tighter++
			}
			left = p.binary(op, left, p.expression(tighter))
			if negated {
				left = p.unary("not", left, op.at)
			}
		}
		before = op.text
	}
	if precedence == 0 {
		left = p.choice(left)
	}
	return left
}

func (p *plainParser) binary(op token, left, right ast.Node) ast.Node {
	n := p.made.binary.take()
	n.Operator, n.Left, n.Right = op.text, left, right
	return p.put(n, op.at)
}

func (p *plainParser) unary(op string, operand ast.Node, at file.Location) ast.Node {
	n := p.made.unary.take()
	n.Operator, n.Node = op, operand
	return p.put(n, at)
}

// comparison makes a < b < c mean a < b and b < c.
func (p *plainParser) comparison(left ast.Node, op token, precedence int) ast.Node {
	var all ast.Node
	for {
		right := p.expression(precedence + 1)
		one := p.binary(op, left, right)
		if all == nil {
			all = one
		} else {
			all = p.binary(token{text: "&&", at: op.at}, all, one)
		}
		left, op = right, *p.token()
		if p.gaveUp || op.kind != tokenSign || !operator.IsComparison(op.text) {
			return all
		}
		p.skip()
	}
}

// choice reads what follows a condition: ? a : b, or ?: b.
func (p *plainParser) choice(cond ast.Node) ast.Node {
	for !p.gaveUp && p.is("?") {
		p.skip()
		yes := cond
		if !p.is(":") {
			yes = p.expression(0)
		}
		p.expect(":")
		no := p.expression(0)
		n := p.made.choices.take()
		n.Ternary, n.Cond, n.Exp1, n.Exp2 = true, cond, yes, no
		cond = p.put(n, p.token().at)
	}
	return cond
}

func (p *plainParser) primary() ast.Node {
	t := *p.token()
	p.skip()
	switch t.kind {
	case tokenName:
		return p.name(t)
	case tokenNumber:
		return p.number(t)
	case tokenString:
		return p.postfix(p.text(t))
	case tokenSign:
		if rule, isUnary := operator.Unary[t.text]; isUnary {
			return p.postfix(p.unary(t.text, p.expression(rule.Precedence), t.at))
		}
		switch t.text {
		case "(":
			inner := p.expression(0)
			p.expect(")")
			return p.postfix(inner)
		case "[":
			return p.postfix(p.array(t))
		}
	}
	return p.giveUp()
}

// name reads a name, or a call.
func (p *plainParser) name(t token) ast.Node {
	switch t.text {
	case "true", "false":
		return p.put(&ast.BoolNode{Value: t.text == "true"}, t.at)
	case "nil":
		return p.put(&ast.NilNode{}, t.at)
	}
	if p.is("(") {
		return p.call(t)
	}
	return p.postfix(p.identifier(t))
}

func (p *plainParser) identifier(t token) ast.Node {
	n := p.made.names.take()
	n.Value = t.text
	return p.put(n, t.at)
}

// call reads the arguments of a function. Predicates have a language of their own.
func (p *plainParser) call(t token) ast.Node {
	if isPredicate(t.text) {
		return p.giveUp()
	}
	p.skip()
	if _, known := builtin.Index[t.text]; known {
		return p.postfix(p.put(&ast.BuiltinNode{Name: t.text, Arguments: p.elements(")")}, t.at))
	}
	callee := p.identifier(t)
	return p.postfix(p.put(&ast.CallNode{Callee: callee, Arguments: p.elements(")")}, t.at))
}

func (p *plainParser) text(t token) ast.Node {
	n := p.made.texts.take()
	n.Value = t.text
	return p.put(n, t.at)
}

func (p *plainParser) number(t token) ast.Node {
	if strings.Contains(t.text, ".") {
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return p.giveUp()
		}
		return p.put(&ast.FloatNode{Value: f}, t.at)
	}
	i, err := strconv.Atoi(t.text)
	if err != nil {
		return p.giveUp()
	}
	n := p.made.integers.take()
	n.Value = i
	return p.put(n, t.at)
}

func (p *plainParser) array(open token) ast.Node {
	n := p.made.arrays.take()
	n.Nodes = p.elements("]")
	return p.put(n, open.at)
}

// elements reads a list up to the bracket that ends it; a comma may follow the last.
func (p *plainParser) elements(end string) []ast.Node {
	first := len(p.list)
	for !p.gaveUp && !p.is(end) {
		if len(p.list) > first {
			if p.expect(","); p.is(end) {
				break
			}
		}
		element := p.expression(0)
		p.list = append(p.list, element)
	}
	p.expect(end)
	if p.lists == nil {
		p.lists = make([]ast.Node, 0, 8)
	}
	start := len(p.lists)
	p.lists = append(p.lists, p.list[first:]...)
	p.list = p.list[:first]
	return p.lists[start:len(p.lists):len(p.lists)]
}

// postfix reads members: .name, ?.name and [key].
func (p *plainParser) postfix(n ast.Node) ast.Node {
	for !p.gaveUp {
		switch optional := p.is("?."); {
		case optional || p.is("."):
			p.skip()
			n = p.member(n, optional)
		case p.is("["):
			at := p.token().at
			p.skip()
			key := p.expression(0)
			m := p.made.members.take()
			m.Node, m.Property = n, key
			n = p.put(m, at)
			p.expect("]")
		default:
			return n
		}
	}
	return nil
}

// member reads the name of base.name. What follows ?. in a chain belongs to it.
func (p *plainParser) member(base ast.Node, optional bool) ast.Node {
	t := *p.token()
	p.skip()
	if t.kind != tokenName && (t.kind != tokenSign || !utils.IsValidIdentifier(t.text)) || p.is("(") {
		return p.giveUp()
	}
	chain, isChain := base.(*ast.ChainNode)
	if isChain {
		base = chain.Node
	}
	n := p.made.members.take()
	n.Node, n.Property, n.Optional = base, p.text(t), optional
	out := p.put(n, t.at)
	if isChain || optional {
		out = p.put(&ast.ChainNode{Node: out}, t.at)
	}
	return out
}

// Reading the plain data of snapshots: JSON without white space, as packer
// writes it. encoding/json takes several times as long, and a state may be large.

package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// maxNesting bounds the depth of what is read; the language allows less.
const maxNesting = 10_000

// parser reads one value. After an error it stands at the end.
type parser struct {
	text  []byte
	at    int
	depth int
	from  *unpacker
}

// unpack reads what pack wrote.
func (u *unpacker) unpack(text json.RawMessage) any {
	if len(text) == 0 {
		return nil
	}
	p := parser{text: text, from: u}
	v := p.value()
	if p.at != len(text) {
		p.fail()
	}
	return v
}

func (p *parser) fail() {
	p.from.fail(fmt.Errorf("no value at byte %d of %d", p.at, len(p.text)))
	p.at = len(p.text)
}

// next takes a byte if it comes next.
func (p *parser) next(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value() any {
	if p.at >= len(p.text) || p.depth > maxNesting {
		p.fail()
		return nil
	}
	p.depth++
	defer func() { p.depth-- }()
	switch p.text[p.at] {
	case '"':
		return p.string()
	case '[':
		return p.list()
	case '{':
		return p.object()
	case 'n':
		p.word("null")
		return nil
	case 't':
		p.word("true")
		return true
	case 'f':
		p.word("false")
		return false
	}
	return p.number()
}

func (p *parser) word(word string) {
	if !bytes.HasPrefix(p.text[p.at:], []byte(word)) {
		p.fail()
		return
	}
	p.at += len(word)
}

// number reads a number by its form: whole floats have an exponent.
func (p *parser) number() any {
	start, whole := p.at, true
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if c == '.' || c == 'e' || c == 'E' {
			whole = false
		} else if (c < '0' || c > '9') && c != '-' && c != '+' {
			break
		}
	}
	text := string(p.text[start:p.at])
	if whole {
		n, err := strconv.Atoi(text)
		if err != nil {
			p.fail()
		}
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail()
	}
	return f
}

func (p *parser) string() string {
	start := p.at
	if !p.next('"') {
		p.fail()
		return ""
	}
	escaped := false
	for ; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\\':
			escaped = true
			p.at++
		case '"':
			p.at++
			if !escaped {
				return string(p.text[start+1 : p.at-1])
			}
			var s string
			if err := json.Unmarshal(p.text[start:p.at], &s); err != nil {
				p.fail()
			}
			return s
		}
	}
	p.at = start
	p.fail()
	return ""
}

func (p *parser) list() any {
	p.at++
	list := []any{}
	if p.next(']') {
		return list
	}
	for {
		list = append(list, p.value())
		if p.next(']') {
			return list[:len(list):len(list)]
		}
		if !p.next(',') {
			p.fail()
			return nil
		}
	}
}

// object reads an object, or what it refers to.
func (p *parser) object() any {
	start := p.at
	if bytes.HasPrefix(p.text[p.at:], []byte(`{"`+sharedKey+`":`)) {
		p.at += len(`{"` + sharedKey + `":`)
		var v any
		if p.at < len(p.text) && p.text[p.at] == '{' {
			v = p.fields()
		} else if place, ok := p.value().(int); ok && p.at < len(p.text) && p.text[p.at] == '}' {
			v = p.from.valueAt(place)
		}
		if p.next('}') {
			return v
		}
		p.at = start // "$" is one of several keys
	}
	return p.fields()
}

func (p *parser) fields() map[string]any {
	p.at++
	m := map[string]any{}
	if p.next('}') {
		return m
	}
	for {
		name := p.string()
		if !p.next(':') {
			p.fail()
			return m
		}
		m[name] = p.value()
		if p.next('}') {
			return m
		}
		if !p.next(',') {
			p.fail()
			return m
		}
	}
}

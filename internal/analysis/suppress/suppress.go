// Package suppress reads the comments that silence rules: `# graphrun: ignore rule-name,
// other-rule why` for a line, `# graphrun: ignore-file rule-name` for a file.
package suppress

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// Rules provides the names of rules. It is called only if a file has such a comment.
type Rules struct {
	Names    func() []string // of all
	Optional func() []string // of those that are off by default
}

// Apply drops the findings that comments of the file silence, and adds one for each
// comment that silences nothing.
func Apply(file *spec.File, found spec.Diagnostics, rules Rules) spec.Diagnostics {
	list := readIgnores(file.Src, rules.Names)
	if len(list) == 0 {
		return found
	}
	byLine := map[int][]*ignore{}
	for i := range list {
		for _, line := range list[i].lines {
			byLine[line] = append(byLine[line], &list[i])
		}
	}
	kept := make(spec.Diagnostics, 0, len(found))
	for _, d := range found {
		silenced := false
		at, span := d.File, d.Span
		if host, named := at.Host(); host != nil {
			at, span = host, named // the text can hold no comment
		}
		if at == file {
			for _, c := range byLine[file.Position(span.From).Line] {
				if c.rule == d.Rule {
					silenced, c.used = true, true
				}
			}
			for i := range list {
				if list[i].file && list[i].rule == d.Rule {
					silenced, list[i].used = true, true
				}
			}
		}
		if !silenced {
			kept = append(kept, d)
		}
	}
	return append(kept, reportUnused(file, list, rules)...)
}

// reportUnused reports the comments that silence nothing, unless another comment silences that.
func reportUnused(file *spec.File, list []ignore, rules Rules) spec.Diagnostics {
	var out spec.Diagnostics
	names, optional := rules.Names(), rules.Optional()
	for i := range list {
		c := &list[i]
		if c.used || c.rule == "unused-ignore" || slices.Contains(optional, c.rule) {
			continue
		}
		if slices.ContainsFunc(list, func(o ignore) bool {
			return o.rule == "unused-ignore" && slices.Contains(o.lines, c.lines[0])
		}) {
			continue
		}
		d := spec.Diagnostic{
			File: file, Rule: "unused-ignore", Severity: spec.Warning, Span: c.span,
			Message: fmt.Sprintf("%q has nothing to silence here", c.rule),
		}
		if c.rule == "" {
			d.Message = "a comment that names no rule silences nothing; name it: # graphrun: ignore rule-name"
		} else if !slices.Contains(names, c.rule) {
			d.Message = fmt.Sprintf("%q is not a rule", c.rule)
			d.Suggestion = suggest.Closest(c.rule, names)
		}
		out = append(out, d)
	}
	return out
}

// ignore is one rule named in a comment.
type ignore struct {
	rule  string
	span  spec.Span
	lines []int // where it applies, its own line first
	file  bool  // it applies to the whole file
	used  bool
}

// ignoreMark matches the beginning of a comment that silences rules.
var ignoreMark = lazyregexp.New(`^[ \t]*graphrun:[ \t]*ignore(-file)?($|[\s,:])`)

// readIgnores reads the silencing comments of a file.
func readIgnores(src []byte, names func() []string) []ignore {
	if !bytes.Contains(src, []byte("ignore")) {
		return nil
	}
	var out []ignore
	number, start := 0, 0
	waiting := 0 // how many at the end of out apply to the next line of content
	for line := range strings.Lines(string(src)) {
		number++
		at := commentStart(line)
		alone := at >= 0 && strings.TrimSpace(line[:at]) == ""
		if !alone {
			for i := range waiting {
				c := &out[len(out)-1-i]
				c.lines = append(c.lines, number)
			}
			waiting = 0
		}
		if at >= 0 {
			before := len(out)
			out = readIgnore(out, line, at, number, start, names)
			if alone {
				waiting += len(out) - before
			}
		}
		start += len(line)
	}
	withBlocks(out, strings.Split(string(src), "\n"))
	return out
}

// withBlocks extends comments on a line that opens a block text to the whole text, which can
// hold no comment.
func withBlocks(list []ignore, lines []string) {
	for i := range list {
		for _, at := range list[i].lines {
			line := lines[at-1]
			if comment := commentStart(line); comment >= 0 {
				line = line[:comment]
			}
			if !opensBlock(line) {
				continue
			}
			depth := indentOf(line)
			for next := at + 1; next <= len(lines) && (strings.TrimSpace(lines[next-1]) == "" || indentOf(lines[next-1]) > depth); next++ {
				list[i].lines = append(list[i].lines, next)
			}
		}
	}
}

// opensBlock reports whether a line ends in | or >, perhaps with indicators behind it.
func opensBlock(line string) bool {
	line = strings.TrimRight(strings.TrimRight(line, " \t\r"), "+-123456789")
	before, ok := strings.CutSuffix(line, "|")
	if !ok {
		before, ok = strings.CutSuffix(line, ">")
	}
	return ok && (strings.HasSuffix(before, ": ") || strings.HasSuffix(before, "- "))
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// ruleName matches a name in a list of rules, perhaps with a reason behind it.
var ruleName = lazyregexp.New(`^[ \t]*([a-z-]+)([ \t\r\n][^,]*)?(?:,|$)`)

// readIgnore adds the rules that the comment of a line names. A reason may hold commas: behind
// one of them another rule follows only if a rule has that name.
func readIgnore(out []ignore, line string, at, number, start int, names func() []string) []ignore {
	mark := ignoreMark().FindString(line[at+1:])
	if mark == "" {
		return out
	}
	i := at + 1 + len(mark)
	name := ruleName().FindStringSubmatchIndex(line[i:])
	if name == nil {
		if word, _, _ := strings.Cut(strings.TrimSpace(line[i:]), " "); strings.ContainsAny(word, "'\"") {
			return out // it is text
		}
		to := at + len(strings.TrimRight(line[at:], " \t\r\n"))
		return append(out, ignore{span: spec.Span{From: start + at, To: start + to}, lines: []int{number}})
	}
	for reasoned := false; name != nil && (!reasoned || namesRule(line[i:], names)); name = ruleName().FindStringSubmatchIndex(line[i:]) {
		from, to := i+name[2], i+name[3]
		out = append(out, ignore{
			rule: line[from:to], span: spec.Span{From: start + from, To: start + to}, lines: []int{number}, file: strings.Contains(mark, "-file"),
		})
		reasoned = name[4] >= 0 && strings.TrimSpace(line[i+name[4]:i+name[5]]) != ""
		i += name[1]
	}
	return out
}

// namesRule reports whether a text begins with the name of a rule.
func namesRule(text string, names func() []string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\r' || r == '\t' })
	return len(words) > 0 && slices.Contains(names(), words[0])
}

// commentStart returns where the comment of a line begins, or -1: at a # at the start or
// after white space, outside quotes.
func commentStart(line string) int {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			// An apostrophe inside a word quotes nothing.
			if i == 0 || strings.IndexByte(" \t[{,:(", line[i-1]) >= 0 {
				quote = c
			}
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return i
		}
	}
	return -1
}

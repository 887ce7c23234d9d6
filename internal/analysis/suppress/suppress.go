// Package suppress reads the comments that silence rules: `# graphrun: ignore rule-name,
// other-rule why` for a line, `# graphrun: ignore-file rule-name` for a file.
package suppress

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// Apply drops findings that comments of the file silence, and reports comments that silence nothing.
// names lists all rules, optional those that are off by default.
func Apply(file *spec.File, found spec.Diagnostics, names, optional func() []string) spec.Diagnostics {
	list := readIgnores(file.Src, names)
	if len(list) == 0 {
		return found
	}
	byRule := map[string][]*ignore{}
	for i := range list {
		byRule[list[i].rule] = append(byRule[list[i].rule], &list[i])
	}
	kept := make(spec.Diagnostics, 0, len(found))
	for _, d := range found {
		at, span := d.File, d.Span
		if host, named := at.Host(); host != nil {
			at, span = host, named // the text can hold no comment
		}
		silenced := false
		for _, c := range byRule[d.Rule] {
			if at == file && (c.file || slices.Contains(c.lines, file.Position(span.From).Line)) {
				silenced, c.used = true, true
			}
		}
		if !silenced {
			kept = append(kept, d)
		}
	}
	return append(kept, reportUnused(file, list, names(), optional())...)
}

// reportUnused reports the comments that silence nothing, unless another comment silences the report.
func reportUnused(file *spec.File, list []ignore, names, optional []string) spec.Diagnostics {
	var out spec.Diagnostics
	for i := range list {
		c := &list[i]
		isExcused := func(o ignore) bool { return o.rule == "unused-ignore" && slices.Contains(o.lines, c.lines[0]) }
		if c.used || c.rule == "unused-ignore" || slices.Contains(optional, c.rule) || slices.ContainsFunc(list, isExcused) {
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
	lines, start := strings.SplitAfter(string(src), "\n"), 0
	for i, line := range lines {
		if at := commentStart(line); at >= 0 {
			for _, c := range readIgnore(line, at, names) {
				c.span.From, c.span.To = c.span.From+start, c.span.To+start
				c.lines = coveredLines(lines, i)
				out = append(out, c)
			}
		}
		start += len(line)
	}
	return out
}

// coveredLines returns the lines that a comment silences: its own and, if it stands alone, the next
// one without a comment. A line that opens a block text includes the text, which has no comments.
func coveredLines(lines []string, i int) []int {
	out := []int{i + 1}
	for i+1 < len(lines) && strings.HasPrefix(strings.TrimLeft(lines[i], " \t"), "#") {
		i++
	}
	if i+1 > out[0] {
		out = append(out, i+1)
	}
	line := lines[i]
	if comment := commentStart(line); comment >= 0 {
		line = line[:comment]
	}
	if opensBlock.Get().MatchString(line) {
		for next := i + 1; next < len(lines) && (strings.TrimSpace(lines[next]) == "" || indentOf(lines[next]) > indentOf(line)); next++ {
			out = append(out, next+1)
		}
	}
	return out
}

// opensBlock matches a line that ends in | or >, perhaps followed by indicators.
var opensBlock = lazyregexp.New(`[:-] [|>][-+1-9]*[ \t\r\n]*$`)

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// ruleName matches a name in a list of rules, perhaps followed by a reason.
var ruleName = lazyregexp.New(`^[ \t]*([a-z-]+)([ \t\r\n][^,]*)?(?:,|$)`)

// readIgnore returns the rules that the comment at an offset of a line names. A reason may have
// commas: another rule follows only if a rule has that name.
func readIgnore(line string, at int, names func() []string) (out []ignore) {
	mark := ignoreMark.Get().FindString(line[at+1:])
	if mark == "" {
		return nil
	}
	i := at + 1 + len(mark)
	name := ruleName.Get().FindStringSubmatchIndex(line[i:])
	if name == nil {
		if word, _, _ := strings.Cut(strings.TrimSpace(line[i:]), " "); strings.ContainsAny(word, "'\"") {
			return nil // it is text
		}
		return []ignore{{span: spec.Span{From: at, To: at + len(strings.TrimRight(line[at:], " \t\r\n"))}}}
	}
	isRule := func(text string) bool {
		words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		return len(words) > 0 && slices.Contains(names(), words[0])
	}
	for reasoned := false; name != nil && (!reasoned || isRule(line[i:])); name = ruleName.Get().FindStringSubmatchIndex(line[i:]) {
		from, to := i+name[2], i+name[3]
		out = append(out, ignore{rule: line[from:to], span: spec.Span{From: from, To: to}, file: strings.Contains(mark, "-file")})
		reasoned = name[4] >= 0 && strings.TrimSpace(line[i+name[4]:i+name[5]]) != ""
		i += name[1]
	}
	return out
}

// commentStart returns the offset of a # at the start or after white space, outside quotes, or -1.
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

// Comments that silence rules: `# graphrun: ignore rule-name, other-rule`.

package cli

import (
	"bytes"
	"strings"
)

// silencer knows which rules are silenced on which line.
type silencer map[int]map[string]bool

// has reports whether a rule is silenced on a line.
func (s silencer) has(line int, rule string) bool { return s[line][rule] }

const ignoreMark = "graphrun: ignore "

// ignores reads the silencing comments of a file. One after other text counts
// for its line; one that stands alone also for the next line.
func ignores(src []byte) silencer {
	if !bytes.Contains(src, []byte(ignoreMark)) {
		return nil
	}
	out := silencer{}
	number := 0
	for line := range strings.Lines(string(src)) {
		number++
		at := commentStart(line)
		if at < 0 {
			continue
		}
		names, ok := strings.CutPrefix(strings.TrimSpace(line[at+1:]), ignoreMark)
		if !ok {
			continue
		}
		out.add(number, names)
		if strings.TrimSpace(line[:at]) == "" {
			out.add(number+1, names)
		}
	}
	return out
}

func (s silencer) add(line int, names string) {
	if s[line] == nil {
		s[line] = map[string]bool{}
	}
	for _, name := range strings.Split(names, ",") {
		if words := strings.Fields(name); len(words) > 0 {
			s[line][words[0]] = true // further words explain why
		}
	}
}

// commentStart is where the comment of a line begins, or -1: at a # at the
// start or after white space, outside quotes.
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

// Comments wherever YAML allows one.

package spec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/longtest"
)

// scribe writes values as YAML in random styles, with comments wherever YAML allows
// one.
type scribe struct {
	*rand.Rand
	b     strings.Builder
	count int
	words []string // of the comments
	share int      // one of share positions has a comment
}

func (s *scribe) newComment() string {
	s.count++
	text := fmt.Sprintf("# c%d%s", s.count, []string{"", " it's", " \"quoted", " {a: 1}, [b]", "# twice", " - item", " key: |"}[s.IntN(7)])
	s.words = append(s.words, text)
	return text
}

// endLine ends a line, perhaps with a comment, and adds empty lines and lines with
// comments. deepest is the largest column of such a comment.
func (s *scribe) endLine(deepest int) {
	if s.IntN(s.share) == 0 {
		s.b.WriteString(strings.Repeat(" ", 1+s.IntN(2)) + s.newComment())
	}
	s.b.WriteString("\n")
	s.writeComments(deepest)
}

// writeComments writes lines with comments.
func (s *scribe) writeComments(deepest int) {
	for s.IntN(s.share) == 0 {
		if s.IntN(3) == 0 {
			s.b.WriteString("\n")
		}
		s.b.WriteString(strings.Repeat(" ", s.IntN(deepest+1)) + s.newComment() + "\n")
		if s.IntN(3) == 0 {
			s.b.WriteString("\n")
		}
	}
}

// pairs is a map with ordered keys.
type pairs []pair

type pair struct {
	key   string
	value any
}

// writeValue writes a value after a key or the dash of an item, at a column.
func (s *scribe) writeValue(v any, col int) {
	if s.IntN(4) == 0 {
		s.writeFlow(v, col, true)
		s.endLine(col + 4)
		return
	}
	switch v := v.(type) {
	case pairs:
		if len(v) == 0 {
			s.b.WriteString(" {}")
			s.endLine(col + 4)
			return
		}
		s.endLine(col + 4)
		s.writePairs(v, col+2, true)
	case []any:
		if len(v) == 0 {
			s.b.WriteString(" []")
			s.endLine(col + 4)
			return
		}
		s.endLine(col + 4)
		s.writeItems(v, col+2*s.IntN(2))
	case string:
		s.writeText(v, col)
	default:
		fmt.Fprint(&s.b, " ", v)
		s.endLine(col + 4)
	}
}

func (s *scribe) writePairs(v pairs, col int, first bool) {
	for i, p := range v {
		if i > 0 || first {
			s.b.WriteString(strings.Repeat(" ", col))
		}
		s.b.WriteString(p.key + ":")
		s.writeValue(p.value, col)
	}
}

func (s *scribe) writeItems(v []any, col int) {
	for _, item := range v {
		s.b.WriteString(strings.Repeat(" ", col) + "-")
		if p, ok := item.(pairs); ok && len(p) > 0 && s.IntN(2) == 0 {
			s.b.WriteString(" ")
			s.writePairs(p, col+2, false)
			continue
		}
		s.writeValue(item, col)
	}
}

// writeText writes a text in one of its styles.
func (s *scribe) writeText(v string, col int) {
	switch s.IntN(5) {
	case 0:
		s.b.WriteString(" " + strconv.Quote(v))
	case 1:
		s.b.WriteString(" '" + strings.ReplaceAll(v, "'", "''") + "'")
	case 2:
		s.b.WriteString([]string{" |-", " >-", " |", " >"}[s.IntN(2+2*min(1, strings.Count(v, " ")))])
		if s.IntN(s.share) == 0 {
			s.b.WriteString(" " + s.newComment())
		}
		s.b.WriteString("\n" + strings.Repeat(" ", col+2) + v + "\n")
		if strings.Contains(v, " ") {
			s.b.WriteString(strings.Repeat(" ", col+2) + "# no comment\n")
		}
		s.writeComments(col) // a deeper comment would be part of the text
		return
	case 3:
		s.b.WriteString("\n" + strings.Repeat(" ", col+2))
		fallthrough
	default:
		s.b.WriteString(" " + plainOrQuoted(v))
	}
	s.endLine(col + 4)
}

func plainOrQuoted(v string) string {
	if isPlainText(v) {
		return v
	}
	return strconv.Quote(v)
}

// writeFlow writes a value in brackets, over one line or several.
func (s *scribe) writeFlow(v any, col int, outer bool) {
	if outer {
		s.b.WriteString(" ")
	}
	gap := func() {
		if s.IntN(4) == 0 {
			s.endLine(col + 4)
			s.b.WriteString(strings.Repeat(" ", col+3))
		} else {
			s.b.WriteString(" ")
		}
	}
	switch v := v.(type) {
	case pairs:
		s.b.WriteString("{")
		for i, p := range v {
			if i > 0 {
				s.b.WriteString(",")
			}
			gap()
			s.b.WriteString(p.key + ": ")
			s.writeFlow(p.value, col, false)
		}
		gap()
		s.b.WriteString("}")
	case []any:
		s.b.WriteString("[")
		for i, item := range v {
			if i > 0 {
				s.b.WriteString(",")
			}
			gap()
			s.writeFlow(item, col, false)
		}
		gap()
		s.b.WriteString("]")
	case string:
		s.b.WriteString(strconv.Quote(v))
	default:
		fmt.Fprint(&s.b, v)
	}
}

// randomFlow returns a random graph as a value: a chain of nodes of different kinds.
func (s *scribe) randomFlow() pairs {
	n := 1 + s.IntN(4)
	var nodes pairs
	var edges []any
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		node := []pairs{
			{{"kind", "pass"}},
			{{"set", pairs{{"n", "n + 1"}, {"s", "'#' + s"}}}, {"kind", "set"}},
			{{"timeout", "10s"}, {"kind", "exec"}, {"command", []any{"echo", "a # b", "it's"}}, {"retry", pairs{{"max_attempts", 2}}}, {"description", "what: it # does"}},
			{{"kind", "human"}, {"choices", []any{"yes", "no", "off"}}, {"prompt", "go {{ n }}?"}, {"x-list", []any{[]any{1, 2}, pairs{{"a", []any{}}}, pairs{}}}},
		}[s.IntN(4)]
		nodes = append(nodes, pair{name, node})
		to := "END"
		if i+1 < n {
			to = fmt.Sprintf("n%d", i+1)
		}
		edge := pairs{{"to", to}, {"from", name}}
		if s.IntN(2) == 0 {
			edges = append(edges, pairs{{"when", "n > 1 and s != \"# x\""}, {"from", name}, {"to", to}, {"label", "if so"}})
		}
		edges = append(edges, edge)
	}
	top := pairs{
		{"graphrun", "v1"},
		{"name", "random"},
		{"start", "n0"},
		{"state", pairs{{"n", pairs{{"default", 0}, {"type", "integer"}}}, {"s", pairs{{"type", "string"}, {"default", ""}}}}},
		{"nodes", nodes},
		{"edges", edges},
		{"limits", pairs{{"max_steps", 10}}},
	}
	s.Shuffle(len(top), func(i, j int) { top[i], top[j] = top[j], top[i] })
	return top
}

// Formatting keeps all comments, wherever they are, and the data of the file. A second
// formatting changes nothing.
func TestFormatKeepsCommentsEverywhere(t *testing.T) {
	rounds := longtest.Choose(50, 150) // GRAPHRUN_FORMAT_ROUNDS=10 tries ten times as many
	if times, err := strconv.Atoi(os.Getenv("GRAPHRUN_FORMAT_ROUNDS")); err == nil {
		rounds *= times
	}
	written, moved, unread := 0, 0, 0
	for i := range rounds {
		s := &scribe{Rand: rand.New(rand.NewPCG(16, uint64(i))), share: 1 + i%12 + 1}
		s.writeComments(4)
		s.writePairs(s.randomFlow(), 0, true)
		src := []byte(s.b.String())
		before, found := Parse("a.yaml", src, Options{})
		if found = append(found, Check(before)...); found.HasErrors() {
			if unread++; unread > rounds/50 {
				t.Fatalf("%v\n%s", found, src)
			}
			continue
		}
		out, err := Format("a.yaml", src, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if bytes.Equal(out, src) {
			t.Errorf("round %d: left as it is:\n%s", i, src)
			continue
		}
		again, err := Format("a.yaml", out, nil)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("round %d: the form of the form is another (%v):\n%s\nfirst\n%s\nof\n%s", i, err, again, out, src)
		}
		if !reflect.DeepEqual(dataOf("a.yaml", src), dataOf("a.yaml", out)) {
			t.Fatalf("round %d: it says something else:\n%s\nof\n%s", i, out, src)
		}
		slices.Sort(s.words)
		if got := comments(out); !slices.Equal(got, s.words) {
			t.Fatalf("round %d: comments %q, want %q:\n%s\nof\n%s", i, got, s.words, out, src)
		}
		written, moved = written+len(s.words), moved+1
	}
	t.Logf("%d comments in %d files, all kept; %d texts were no flows", written, moved, unread)
	if moved < rounds*9/10 {
		t.Errorf("%d of %d were formatted", moved, rounds)
	}
}

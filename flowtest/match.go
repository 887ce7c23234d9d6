// Matching values: subsets, patterns, numbers.

package flowtest

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// isPattern reports whether a text stands for a regular expression: /…/.
func isPattern(text string) bool {
	return len(text) > 2 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/")
}

// unwrapped returns a pattern without its slashes.
func unwrapped(text string) string {
	if isPattern(text) {
		return text[1 : len(text)-1]
	}
	return text
}

// matchText reports whether a text equals want, or matches /want/.
func matchText(want, got string) bool {
	if !isPattern(want) {
		return want == got
	}
	pattern, err := regexp.Compile(unwrapped(want))
	return err == nil && (pattern.MatchString(got) || want == got)
}

// fits reports whether data matches: objects may hold more keys, a text may be a /pattern/,
// and numbers compare across types.
func fits(want, got any) bool { return compare(want, got, true) }

// equal is fits for objects without other keys.
func equal(want, got any) bool { return compare(want, got, false) }

func compare(want, got any, subset bool) bool {
	switch w := want.(type) {
	case string:
		if text, ok := got.(string); ok {
			return matchText(w, text)
		}
		return isPattern(w) && got != nil && matchText(w, eval.Text(got))
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || !subset && len(g) != len(w) {
			return false
		}
		for name, value := range w {
			own, there := g[name]
			if !there && value != nil || !there && !subset || !compare(value, own, subset) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !compare(w[i], g[i], subset) {
				return false
			}
		}
		return true
	case int, float64:
		g, isNumber := eval.Number(got)
		own, _ := eval.Number(want)
		return isNumber && own == g
	}
	return want == got
}

// shown writes a value for a message.
func shown(v any) string {
	if text, ok := v.(string); ok && !strings.Contains(text, "\n") {
		return text
	}
	if list, ok := v.([]string); ok {
		return "[" + strings.Join(list, ", ") + "]"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(err.Error())
	}
	return string(text)
}

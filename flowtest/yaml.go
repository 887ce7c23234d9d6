// Values as a person writes them in YAML.

package flowtest

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// plainText matches texts that YAML reads without quotes, in flow style too.
var plainText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`)
})

// yamlText writes a text as a scalar, quoted if necessary.
func yamlText(text string) string {
	words := []string{"false", "no", "null", "off", "on", "true", "yes"}
	if plainText().MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return jsonText(text)
}

// yamlFlow writes a value in flow style, on one line.
func yamlFlow(v any) string {
	switch v := v.(type) {
	case string:
		return yamlText(v)
	case time.Duration:
		return eval.DurationText(v)
	case []string:
		return yamlList(v, yamlText)
	case []any:
		return yamlList(v, yamlFlow)
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range sortedNames(v) {
			parts = append(parts, yamlText(name)+": "+yamlFlow(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return jsonText(v)
}

func yamlList[V any](list []V, text func(V) string) string {
	return "[" + strings.Join(collect(list, text), ", ") + "]"
}

func jsonText(v any) string {
	text, err := eval.AppendJSON(nil, v)
	if err != nil {
		return "null"
	}
	return string(text)
}

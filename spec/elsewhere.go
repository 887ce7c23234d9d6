// What people who know other tools are likely to write, and what it is called here.

package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
)

// nearest is the allowed name that a wrong one most likely stands for: what
// other tools call by that name, a misspelling, or the only name that has it as
// a part; "" when there is none.
func nearest(word string, allowed []string) string {
	if name := elsewhere(strings.ToLower(word), allowed); name != "" {
		return name
	}
	if name := suggest.Closest(word, allowed); name != "" {
		return name
	}
	return withPart(word, allowed)
}

// withPart is the only allowed name of several words that has word among them,
// as max_attempts has attempts.
func withPart(word string, allowed []string) string {
	found := ""
	for _, name := range allowed {
		if !strings.HasSuffix(name, "_"+word) && !strings.HasPrefix(name, word+"_") {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// elsewhere is the allowed name for what other tools call word, or "".
func elsewhere(word string, allowed []string) string {
	for _, same := range synonyms() {
		if !slices.Contains(same.words, word) || slices.Contains(allowed, word) {
			continue
		}
		if slices.Contains(allowed, same.name) {
			return same.name
		}
	}
	return ""
}

// synonym is a name of the language and what other tools call it.
type synonym struct {
	name  string
	words []string
}

func synonyms() []synonym {
	return []synonym{
		// keys of a graph, a node, an edge, a join
		{"graphrun", []string{"version", "apiversion", "api_version", "workflow_version", "schema_version"}},
		{"nodes", []string{"steps", "tasks", "states", "jobs", "stages"}},
		{"edges", []string{"transitions", "links", "connections"}},
		{"start", []string{"entry", "entrypoint", "entry_point", "start_at", "startat", "initial", "begin"}},
		{"finish", []string{"end", "exit", "finish_point", "end_at"}},
		{"state", []string{"vars", "variables", "inputs", "params"}},
		{"kind", []string{"type", "uses"}},
		{"command", []string{"cmd", "argv", "run", "entrypoint", "exec"}},
		{"script", []string{"run", "shell_script", "code", "bash"}},
		{"url", []string{"uri", "endpoint", "address"}},
		{"prompt", []string{"template", "question", "text"}},
		{"instructions", []string{"system", "system_prompt"}},
		{"message", []string{"error", "reason", "cause"}},
		{"each", []string{"foreach", "for_each", "map", "loop", "matrix", "with_items"}},
		{"timeout", []string{"timeout_seconds", "time_limit", "timeout_minutes"}},
		{"for", []string{"seconds", "duration", "delay"}},
		{"wait", []string{"mode", "type", "strategy"}},
		{"from", []string{"source", "src"}},
		{"to", []string{"target", "dest", "destination", "next"}},
		{"when", []string{"if", "cond", "expr", "expression", "guard"}},
		{"max_attempts", []string{"max_retries", "retries", "limit", "count", "tries"}},
		{"initial_interval", []string{"delay", "interval", "wait"}},
		{"backoff", []string{"backoff_rate", "multiplier", "factor"}},
		{"max_visits", []string{"max_iterations", "max_loops"}},
		{END, []string{"done", "exit", "stop", "finish", "finished", "terminate", "terminal", "complete"}},
		// kinds of nodes
		{"exec", []string{"shell", "script", "command", "bash", "run", "process", "python"}},
		{"llm", []string{"model", "prompt", "chat", "ai", "completion"}},
		{"http", []string{"request", "api", "rest", "webhook", "https"}},
		{"human", []string{"approval", "manual", "user", "input", "person", "interrupt"}},
		{"wait", []string{"sleep", "delay", "timer"}},
		{"graph", []string{"subgraph", "workflow", "subflow", "flow"}},
		{"pass", []string{"noop", "router", "route", "choice", "switch", "condition", "branch", "parallel", "join"}},
		{"set", []string{"assign", "variables", "transform"}},
		{"fail", []string{"throw", "abort", "raise"}},
		// conditions of edges
		{"on_failure", []string{"error", "on_error", "catch", "failed"}},
		{"always", []string{"finally", "any"}},
		{"on_success", []string{"default", "else", "succeeded", "ok"}},
		{"conditional", []string{"when", "if"}},
		// types of JSON Schema
		{"string", []string{"str", "text"}},
		{"integer", []string{"int", "long"}},
		{"number", []string{"float", "double", "decimal"}},
		{"boolean", []string{"bool"}},
		{"array", []string{"list", "tuple"}},
		{"object", []string{"dict", "map", "struct"}},
		{"null", []string{"none", "nil"}},
	}
}

// written is how a value of a wrong shape is written in the right one, where
// that is plain: `n: string` as {type: string}, 10 as 10s, yes as true.
func written(k *Key, v *Value) string {
	if !v.IsScalar() || v.Kind == Null {
		return ""
	}
	word := v.Text.Value
	switch k.Type {
	case TypeSchema:
		if name := elsewhere(word, schemaTypes()); name != "" {
			word = name
		}
		if slices.Contains(schemaTypes(), word) {
			return "{type: " + word + "}"
		}
	case TypeNode:
		if findKind(BuiltinKinds(), word) != nil {
			return "{kind: " + word + "}"
		}
	case TypeObject:
		if from, to, arrow := strings.Cut(word, "->"); arrow && findKey(k.Keys, "from") != nil {
			return "{from: " + strings.TrimSpace(from) + ", to: " + strings.TrimSpace(to) + "}"
		}
		if v.Kind == Int && findKey(k.Keys, "max_attempts") != nil {
			return "{max_attempts: " + word + "}"
		}
		if key := onlyTaker(k.Keys, v); key != nil && (v.Kind == Int || isIdentifier(word)) {
			return "{" + key.Name + ": " + word + "}"
		}
	case TypeList:
		if k.Elem.Type != TypeObject && v.Kind == String && isPlainWords(word) {
			return "[" + strings.Join(strings.Fields(word), ", ") + "]"
		}
	case TypeBool:
		return truth(word)
	case TypeInt:
		if _, err := strconv.ParseUint(word, 10, 31); err == nil && v.Kind == String {
			return word
		}
	case TypeDuration:
		return duration(word)
	case TypeOneOf:
		for i := range k.Forms {
			if out := written(&k.Forms[i], v); out != "" {
				return out
			}
		}
	}
	return ""
}

// onlyTaker is the key of a map that a scalar in the map's place can only be meant
// for: the only one, or the only one that has it among its words, as wait has all.
func onlyTaker(keys []Key, v *Value) *Key {
	var found *Key
	for i := range keys {
		if !fits(&keys[i], v) || len(keys) > 1 && !hasWord(&keys[i], v) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &keys[i]
	}
	return found
}

// hasWord reports whether a value is one of a key's words, or a number as the key's
// values are.
func hasWord(k *Key, v *Value) bool {
	if k.Type == TypeOneOf {
		for i := range k.Forms {
			if hasWord(&k.Forms[i], v) {
				return true
			}
		}
	}
	return k.Type == TypeEnum && slices.Contains(k.Enum, v.Text.Value) || k.Type == TypeInt && v.Kind == Int
}

// isPlainWords reports whether each word of a text can stand in a list without quotes.
func isPlainWords(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != ' ' && r != '-' && r != '.' && r != '/' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func truth(word string) string {
	switch strings.ToLower(word) {
	case "yes", "on", "y", "1", "true":
		return "true"
	case "no", "off", "n", "0", "false":
		return "false"
	}
	return ""
}

// duration is the notation for a number with a unit of another tool's; a number
// without one means seconds.
func duration(text string) string {
	digits := strings.TrimRight(text, " abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 {
		return ""
	}
	switch unit := strings.TrimSuffix(strings.TrimSpace(text[len(digits):]), "s"); unit {
	case "", "sec", "second":
		return digits + "s"
	case "m", "msec", "milli", "millisecond":
		if unit == "m" {
			return digits + "m"
		}
		return digits + "ms"
	case "min", "minute":
		return digits + "m"
	case "h", "hr", "hour":
		return digits + "h"
	case "d", "day":
		return strconv.FormatUint(24*n, 10) + "h"
	}
	return ""
}

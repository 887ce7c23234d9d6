// JSON Schemas and levels of reasoning in the forms that providers take.

package wire

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/model"
)

// Dialect names the keywords of JSON Schema that structured output supports, besides
// properties, items, closed objects and usualKeywords.
type Dialect struct {
	Keeps []string
	// Drops are keywords that the schema leaves out, because the caller checks them.
	Drops  []string
	Unions bool // anyOf
	// Complete refuses objects with optional properties, whose values a model would invent,
	// and lists without items.
	Complete bool
}

var usualKeywords = []string{"type", "description", "enum", "const", "required", "title"}

// Strict is the dialect of OpenAI, whose answers always fit the schema.
var Strict = Dialect{Keeps: []string{"minimum", "maximum", "pattern", "minItems", "maxItems"}, Complete: true}

// CloseSchema returns a schema whose objects allow no other properties, or false if the
// dialect can't express it. The closed schema allows less than the given one.
func (d *Dialect) CloseSchema(schema map[string]any) (map[string]any, bool) {
	out, ok := make(map[string]any, len(schema)+1), true
	closeInner := func(value any) any {
		inner, is := value.(map[string]any)
		closed, fits := d.CloseSchema(inner)
		ok = ok && is && fits
		return closed
	}
	for key, value := range schema {
		switch {
		case slices.Contains(usualKeywords, key), slices.Contains(d.Keeps, key):
			out[key] = value
		case key == "additionalProperties":
			ok = ok && value == false
		case key == "items":
			out[key] = closeInner(value)
		case key == "properties":
			properties, _ := value.(map[string]any)
			closed := make(map[string]any, len(properties))
			for name, property := range properties {
				closed[name] = closeInner(property)
			}
			out[key] = closed
		case key == "anyOf" && d.Unions:
			list, _ := value.([]any)
			closed := make([]any, len(list))
			for i, choice := range list {
				closed[i] = closeInner(choice)
			}
			out[key] = closed
		default:
			ok = ok && slices.Contains(d.Drops, key)
		}
	}
	if out["type"] == "object" {
		out["additionalProperties"] = false
		return out, ok && (!d.Complete || requiresAll(out))
	}
	return out, ok && (!d.Complete || out["type"] != "array" || out["items"] != nil)
}

// requiresAll reports whether an object requires all its properties and no others.
func requiresAll(schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return len(properties) > 0 && len(properties) == len(required)
}

// levels are all levels of reasoning, lowest first. none turns reasoning off.
var levels = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// dated matches the end of a model's name, with or without a date.
const dated = `(-20\d\d-\d\d-\d\d)?$`

// efforts are models by name, with their lowest and highest level. A name with the prefix
// of a gateway does not match, because gateways accept all levels.
var efforts = []struct {
	name        *lazyregexp.Regexp
	least, most string
}{
	{lazyregexp.New(`^(o1|o3|o3-mini|o4-mini)` + dated), "low", "high"},
	{lazyregexp.New(`^gpt-5(-mini|-nano)?` + dated), "minimal", "high"},
	{lazyregexp.New(`^gpt-5\.1` + dated), "none", "high"},
	{lazyregexp.New(`^gpt-5\.[2-5](-mini|-nano)?` + dated), "none", "xhigh"},
	{lazyregexp.New(`^(gpt-5\.6(-sol|-terra|-luna)?|gpt-6-(sol|luna)|gpt-6\.1-terra)` + dated), "none", "max"},
	{lazyregexp.New(`^(gpt-6-astra|gpt-6\.[12]-sol)` + dated), "low", "max"},
}

// SetReasoning sets how much the model should reason. It sets a level, as encode returns
// it, under a key, or the provider's own options under reasoning.
func (c *Call) SetReasoning(body map[string]any, key string, encode func(level string) any) error {
	switch value := c.Req.Reasoning.(type) {
	case nil:
	case string:
		level, err := nearestLevel(c.Model, value)
		if level != "" {
			body[key] = encode(level)
		}
		return err
	case map[string]any:
		body["reasoning"] = value
	default:
		return InvalidRequest("reasoning is %v; this provider takes a word such as low, medium or high", value)
	}
	return nil
}

// nearestLevel returns the nearest level that a model of OpenAI accepts. It returns other levels,
// and those for other models, unchanged. It fails for the level none if the model always reasons.
func nearestLevel(name, level string) (string, error) {
	asked := slices.Index(levels, level)
	for _, e := range efforts {
		if asked < 0 || !e.name.Get().MatchString(name) {
			continue
		}
		least, most := slices.Index(levels, e.least), slices.Index(levels, e.most)
		switch {
		case level == "none" && least > 0:
			return "", ReasoningRequiredError(name, levels[least:most+1])
		case level == "minimal" && e.least != "minimal":
			return "low", nil // the lowest level of these models
		}
		return levels[min(asked, most)], nil
	}
	return level, nil
}

// ReasoningRequiredError returns the error for reasoning: none if a model always reasons.
func ReasoningRequiredError(name string, has []string) *model.Error {
	return InvalidRequest("reasoning is none; %s always reasons: it takes %s", name, strings.Join(has, ", "))
}

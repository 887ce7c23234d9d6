// Parts of messages in values: images, files and audio.

package eval

import (
	"fmt"
	"slices"
	"strings"
)

// PartKinds returns the keys that mark a part, sorted.
func PartKinds() []string { return []string{"audio", "file", "image", "text"} }

// IsPart reports whether an object is a part: {text}, {image}, {file} or {audio} with a
// text, and a name at most besides.
func IsPart(fields map[string]any) bool {
	kinds := 0
	for key, value := range fields {
		if _, isText := value.(string); !isText {
			return false
		}
		switch {
		case slices.Contains(PartKinds(), key):
			kinds++
		case key != "name":
			return false
		}
	}
	return kinds == 1
}

// IsMedia reports whether a value is an image, file or audio, or a list of texts and parts
// with one of them.
func IsMedia(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return IsPart(v) && v["text"] == nil
	case []any:
		some := false
		for _, item := range v {
			fields, _ := item.(map[string]any)
			if _, isText := item.(string); !isText && !IsPart(fields) {
				return false
			}
			some = some || IsMedia(fields)
		}
		return some
	}
	return false
}

// Pieces splits a value into the texts (string) and parts (map[string]any) of a message.
// Data becomes Text; parts with their bytes inside it follow, replaced by [image 1] and so
// on. media is false, without pieces, if there is only text.
func Pieces(v any) (pieces []any, media bool) {
	if IsMedia(v) {
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		return list, true
	}
	var deep []any
	plain := rewrite(v, func(v any) (any, bool) {
		fields, _ := v.(map[string]any)
		if !IsMedia(fields) {
			return nil, false
		}
		for _, kind := range PartKinds() { // a part with only a path or an address is data
			if bytes, _ := fields[kind].(string); strings.HasPrefix(bytes, "data:") {
				deep = append(deep, v)
				return fmt.Sprintf("[%s %d]", kind, len(deep)), true
			}
		}
		return v, true
	})
	if deep == nil {
		return nil, false
	}
	return append([]any{Text(plain)}, deep...), true
}

// RenderParts renders a message like Render. If expressions give images, files or audio, it
// returns a list of texts and parts, in order.
func (v *VM) RenderParts(t *Template, env map[string]any) (any, error) {
	return v.render(t, env, true)
}

// appendPieces adds pieces to a message and joins adjacent texts. Text after the last part
// stays in b.
func appendPieces(said []any, b *strings.Builder, pieces []any) []any {
	for _, piece := range pieces {
		if text, isText := piece.(string); isText {
			b.WriteString(text)
			continue
		}
		if b.Len() > 0 {
			said = append(said, b.String())
			b.Reset()
		}
		said = append(said, piece)
	}
	return said
}

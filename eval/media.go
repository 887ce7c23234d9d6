// Images, files and audio in values.

package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PartKinds returns the keys that mark a part, sorted.
func PartKinds() []string { return []string{"audio", "file", "image", "text"} }

// IsPart reports whether an object is a part: its members are strings, one of them is
// text, image, file or audio, and another one may be name.
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

// SplitPieces splits a value into the texts (string) and parts (map[string]any) of a message.
// Data becomes Text, in which [image 1] and so on replace the parts with bytes; these parts
// follow the text. media is false, without pieces, if there is only text.
func SplitPieces(v any) (pieces []any, media bool) {
	if IsMedia(v) {
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		return list, true
	}
	var deep []any
	plain := replaceParts(v, func(v any) (any, bool) {
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

// maxURI is the maximum length in bytes of a data URI that ShortenURIs keeps.
const maxURI = 200

// ShortenURIs replaces long data URIs in a value by a note such as [image/png, 12.3 kB].
func ShortenURIs(v any) any { return MapTexts(v, shortenURI) }

// MapTexts returns a copy of plain data with change applied to all texts except the keys of objects.
func MapTexts(v any, change func(string) string) any {
	return replaceParts(v, func(v any) (any, bool) {
		text, isText := v.(string)
		return change(text), isText
	})
}

// replaceParts returns a copy of plain data with some parts replaced. It calls replace for each part
// before the parts inside it, in the order of sorted keys.
func replaceParts(v any, replace func(v any) (any, bool)) any {
	if out, replaced := replace(v); replaced {
		return out
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaceParts(v[i], replace)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out[key] = replaceParts(v[key], replace)
		}
		return out
	}
	return v
}

func shortenURI(text string) string {
	if len(text) <= maxURI || !strings.HasPrefix(text, "data:") {
		return text
	}
	head, data, found := strings.Cut(text[len("data:"):], ",")
	kind, coded := strings.CutSuffix(head, ";base64")
	if !found || !coded || len(head) > maxURI {
		return text
	}
	return fmt.Sprintf("[%s, %.1f kB]", kind, float64(len(data))*3/4/1000)
}

// appendPieces adds pieces to a message and joins adjacent texts. Text after the last part
// stays in b.
func appendPieces(done []any, b *strings.Builder, pieces []any) []any {
	for _, piece := range pieces {
		if text, isText := piece.(string); isText {
			b.WriteString(text)
			continue
		}
		if b.Len() > 0 {
			done = append(done, b.String())
			b.Reset()
		}
		done = append(done, piece)
	}
	return done
}

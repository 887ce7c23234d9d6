// Parts as chats and servers elsewhere write them, for messages that come from there.

package node

import (
	"encoding/base64"
	"slices"
)

// plainParts is the content of a message with the parts that are written as other
// chats have them, {type: image_url, image_url: {url: …}}, in our form. The error
// names a type of part that is not known.
func plainParts(v any) (any, error) {
	list, isList := v.([]any)
	if !isList {
		return v, nil
	}
	out := slices.Clone(list)
	for i, item := range list {
		fields, _ := item.(map[string]any)
		kind, typed := fields["type"].(string)
		if !typed {
			continue
		}
		if out[i] = plainPart(kind, fields); out[i] == nil {
			return nil, invalidInput("a part has the type %q, which is not known here; parts are {text}, {image}, {file} and {audio}", kind)
		}
	}
	return out, nil
}

func plainPart(kind string, fields map[string]any) any {
	text := func(of map[string]any, key string) string {
		s, _ := of[key].(string)
		return s
	}
	inner := func(key string) map[string]any {
		m, _ := fields[key].(map[string]any)
		return m
	}
	part := func(key, named string) any {
		if named == "" {
			return nil
		}
		out := map[string]any{key: named}
		for _, name := range []string{text(fields, "name"), text(fields, "filename"), text(fields, "title"), text(inner("file"), "filename")} {
			if name != "" {
				out["name"] = name
			}
		}
		return out
	}
	switch kind {
	case "text", "input_text", "output_text":
		return map[string]any{"text": text(fields, "text")}
	case "image_url", "input_image":
		if address := text(inner("image_url"), "url"); address != "" {
			return part("image", address)
		}
		return part("image", text(fields, "image_url"))
	case "image", "document", "audio":
		key := map[string]string{"image": "image", "document": "file", "audio": "audio"}[kind]
		source := inner("source")
		switch {
		case text(source, "url") != "":
			return part(key, text(source, "url"))
		case text(source, "type") == "text":
			return part(key, "data:text/plain;base64,"+base64.StdEncoding.EncodeToString([]byte(text(source, "data"))))
		case text(source, "data") != "":
			return part(key, "data:"+text(source, "media_type")+";base64,"+text(source, "data"))
		case text(fields, "data") != "": // the Model Context Protocol
			return part(key, "data:"+text(fields, "mimeType")+";base64,"+text(fields, "data"))
		}
	case "input_audio":
		if sound := inner("input_audio"); text(sound, "data") != "" {
			return part("audio", "data:audio/"+text(sound, "format")+";base64,"+text(sound, "data"))
		}
	case "file", "input_file":
		for _, named := range []string{text(inner("file"), "file_data"), text(fields, "file_data"), text(fields, "file_url")} {
			if named != "" {
				return part("file", named)
			}
		}
	}
	return nil
}

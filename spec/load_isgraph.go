// Whether a file is a graph file, without parsing it.

package spec

import "bytes"

// IsGraph reports whether a text has "graphrun" among its top-level keys. It
// reads broken text too, so that a graph file with a syntax error is still
// reported as one, and looks at no value.
func IsGraph(src []byte) bool {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if !bytes.Contains(src, []byte("graphrun")) {
		return false
	}
	indent := -1
	for at := 0; at < len(src); {
		end := lineEnd(src, at)
		line := src[at:end]
		n, _ := lineBreak(src, end)
		next := end + max(n, 1)
		text := bytes.TrimLeft(line, " \t")
		switch {
		case len(text) == 0, text[0] == '#', text[0] == '%', bytes.HasPrefix(line, []byte("---")) && indent < 0:
		case indent < 0 && text[0] == '{':
			return flowHasGraphrun(src[at:])
		default:
			if indent < 0 {
				indent = len(line) - len(text)
			}
			if len(line)-len(text) == indent && isGraphrunKey(text[:min(len(text), 64)]) {
				return true
			}
		}
		at = next
	}
	return false
}

// isGraphrunKey reports whether a text starts with the key, quoted or not, and its colon.
func isGraphrunKey(text []byte) bool {
	const key = "graphrun"
	quoted := len(text) > 0 && (text[0] == '"' || text[0] == '\'')
	if quoted {
		if len(text) < len(key)+2 || text[len(key)+1] != text[0] {
			return false
		}
		text = append(text[1:len(key)+1:len(key)+1], text[len(key)+2:]...)
	}
	rest, found := bytes.CutPrefix(text, []byte(key))
	if !found {
		return false
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':' && (quoted || len(rest) == 1 || isSpaceAt(rest, 1))
}

// flowHasGraphrun looks for the key inside the outermost braces of a map in
// flow style, such as JSON.
func flowHasGraphrun(src []byte) bool {
	depth, expectKey := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '{', '[':
			depth++
			expectKey = depth == 1
			continue
		case '}', ']':
			if depth--; depth <= 0 {
				return false
			}
		case ',':
			expectKey = depth == 1
			continue
		case ' ', '\t', '\r', '\n':
			continue
		case '#':
			i = lineEnd(src, i)
			continue
		case '"', '\'':
			if expectKey && isGraphrunKey(src[i:min(len(src), i+64)]) {
				return true
			}
			i = closeQuote(src, i, c) - 1
		default:
			if expectKey && isGraphrunKey(src[i:min(len(src), i+64)]) {
				return true
			}
		}
		expectKey = false
	}
	return false
}

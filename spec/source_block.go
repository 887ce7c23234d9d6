// Offsets in literal (|) and folded (>) block scalars.

package spec

// blockLayout is where a block scalar's lines are.
type blockLayout struct {
	body   int // offset of the line behind the header
	indent int // number of spaces before the content; 0 when it has no content
	end    int // behind the last line with content, without its line break
}

// layoutBlock finds the lines of the block scalar whose indicator is at from.
// The decoded value shows how much of the first line's white space is
// indentation, whether it was detected or declared.
func layoutBlock(src []byte, from int, value string) blockLayout {
	at := lineEnd(src, from)
	layout := blockLayout{end: at}
	layout.end = trimHeader(src, from, at)
	n, _ := lineBreak(src, at)
	layout.body = at + n
	pos := layout.body
	if layout.indent = contentIndent(src, pos, value); layout.indent <= 0 {
		layout.indent = 0
		return layout
	}
	for pos < len(src) {
		eol := lineEnd(src, pos)
		spaces := countSpaces(src, pos)
		switch {
		case pos+spaces == eol && spaces <= layout.indent:
		case spaces < layout.indent:
			return layout
		default:
			layout.end = eol
		}
		n, _ := lineBreak(src, eol)
		if n == 0 {
			return layout
		}
		pos = eol + n
	}
	return layout
}

// contentIndent compares the first line of the value that is not empty with
// the same line of the source; -1 when the value has no such line.
func contentIndent(src []byte, pos int, value string) int {
	for at := 0; at < len(value); {
		n, _ := lineBreak([]byte(value[at:min(len(value), at+3)]), 0)
		if n == 0 {
			own := 0
			for at+own < len(value) && value[at+own] == ' ' {
				own++
			}
			return countSpaces(src, pos) - own
		}
		at += n
		eol := lineEnd(src, pos)
		n, _ = lineBreak(src, eol)
		pos = eol + n
	}
	return -1
}

// lineEnd is the offset of the line break that ends the line at pos, or the end of src.
func lineEnd(src []byte, pos int) int {
	for pos < len(src) {
		if c := src[pos]; c == '\n' || c == '\r' || c >= 0x80 {
			if n, _ := lineBreak(src, pos); n > 0 {
				return pos
			}
		}
		pos++
	}
	return len(src)
}

func countSpaces(src []byte, pos int) int {
	n := 0
	for pos+n < len(src) && src[pos+n] == ' ' {
		n++
	}
	return n
}

// trimHeader is the end of the indicators of a block scalar's header, before
// blanks and a comment.
func trimHeader(src []byte, from, to int) int {
	at := from
	for at < to && !isBlank(src[at]) {
		at++
	}
	return at
}

// block decodes a block scalar; false when its layout is not understood.
func (d *decoding) block(value string) bool {
	folded := d.peek() == '>'
	layout := layoutBlock(d.src, d.pos, value)
	d.first, d.pos = layout.end, layout.body
	indent := layout.indent
	if indent == 0 {
		indent = len(d.src) // no content: white space of any width is an empty line
	}
	pending, column := d.breaks(indent) // line breaks not yet decided on: kept, folded or chomped
	var leading piece
	wasBlank, any := false, false
	for d.pos < len(d.src) && column == indent {
		blank := isBlank(d.peek())
		if folded && any && !wasBlank && !blank && leading.text == "\n" {
			if len(pending) == 0 {
				d.add(piece{" ", leading.span})
			}
		} else if any {
			d.add(leading)
		}
		for _, p := range pending {
			d.add(p)
		}
		wasBlank, any = blank, true
		for end := lineEnd(d.src, d.pos); d.pos < end; {
			d.copyRune()
		}
		n, text := lineBreak(d.src, d.pos)
		leading = piece{text, Span{d.pos, d.pos + n}}
		d.pos += n
		pending, column = d.breaks(indent)
	}
	d.tail(value, leading, pending)
	return true
}

// tail adds the line breaks at the end of a block that its chomping kept.
func (d *decoding) tail(value string, leading piece, pending []piece) {
	rest := len(value) - len(d.out)
	for _, p := range append([]piece{leading}, pending...) {
		if rest <= 0 {
			return
		}
		d.add(p)
		rest -= len(p.text)
	}
}

// breaks skips indentation of up to indent spaces and collects empty lines;
// column is how far it came on the line where it stopped.
func (d *decoding) breaks(indent int) (empty []piece, column int) {
	for {
		start := d.pos
		for d.pos-start < indent && d.peek() == ' ' {
			d.pos++
		}
		n, text := lineBreak(d.src, d.pos)
		if n == 0 {
			return empty, d.pos - start
		}
		empty = append(empty, piece{text, Span{d.pos, d.pos + n}})
		d.pos += n
	}
}

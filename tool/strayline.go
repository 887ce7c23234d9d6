// Lines that servers print on stdout between their messages.

package tool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// maxLine bounds the bytes of a message.
const maxLine = 64 << 20

// filterMessages passes on the lines of a server's stdout that are messages. Others go to
// stray, unless it is full.
func filterMessages(stdout io.ReadCloser, stray chan<- string) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			line := lines.Bytes()
			if isMessage(line) {
				if _, err := in.Write(append(line, '\n')); err != nil {
					break
				}
			} else if text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")); text != "" {
				select {
				case stray <- eval.Shorten(text, 200):
				default:
				}
			}
		}
		_ = in.CloseWithError(lines.Err()) // nil ends the stream
	}()
	return pipe{out, stdout}
}

// pipe closes both ends of a filter.
type pipe struct {
	*io.PipeReader
	source io.Closer
}

// Close ends the filter.
func (p pipe) Close() error {
	_ = p.PipeReader.Close()
	return p.source.Close()
}

// isMessage reports whether a line is a JSON object or a list.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') && json.Valid(line)
}

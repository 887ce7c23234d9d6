// Writing a recording.

package cassette

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// version is the version of the format.
const version = "v1"

// Check reports why a recording could not be written to a file, before anything
// is paid for. It leaves the file as it is.
func Check(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_ = file.Close()
	return os.Remove(file.Name())
}

// Save writes the recording to a file, which only its owner can read: prompts
// and answers may be confidential. The file is replaced as a whole or, on an
// error, left as it is.
func (c *Cassette) Save(path string) error {
	text, err := c.Encode()
	if err == nil {
		err = replace(path, text)
	}
	if err != nil {
		return fmt.Errorf("the recording can't be written: %w", err)
	}
	return nil
}

func replace(path string, text []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Encode is the recording as text. Calls stand in an order of their own, by
// node, visit, role, turn, kind, name and request, so that the text does not
// tell which parallel branch was quicker; equal calls stand in the order in
// which they were answered.
func (c *Cassette) Encode() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clean := make([]*call, len(c.calls))
	for i, recorded := range c.calls {
		id, err := scrubbed(recorded.id, c.secrets)
		if err != nil {
			return nil, err
		}
		answer, err := scrubJSON(recorded.answer, c.secrets, false)
		if err != nil {
			return nil, err
		}
		clean[i] = &call{id: id, answer: answer}
	}
	slices.SortStableFunc(clean, func(a, b *call) int { return compareIDs(a.id, b.id) })
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Answers of models and tools, to play with: graphrun run FLOW --replay FILE\ncassette: %s\ncalls:", version)
	if len(clean) == 0 {
		out.WriteString(" []")
	}
	out.WriteString("\n")
	for _, one := range clean {
		if err := one.write(&out); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func compareIDs(a, b identity) int {
	return cmp.Or(
		cmp.Compare(a.Caller.Node, b.Caller.Node), cmp.Compare(a.Caller.Place, b.Caller.Place), cmp.Compare(a.Caller.Visit, b.Caller.Visit),
		cmp.Compare(a.Caller.Role, b.Caller.Role), cmp.Compare(a.Caller.Turn, b.Caller.Turn),
		cmp.Compare(a.What, b.What), cmp.Compare(a.Name, b.Name), bytes.Compare(a.Request, b.Request),
	)
}

// write writes a call as an entry of the list.
func (c *call) write(out *bytes.Buffer) error {
	caller, err := json.Marshal(c.id.Caller)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  - %s: %s\n", c.id.What, quoted(c.id.Name))
	for _, part := range []struct {
		name string
		text []byte
	}{{"caller", caller}, {"request", c.id.Request}, {"answer", c.answer}} {
		v, err := decode(part.text)
		if err != nil {
			return err
		}
		writeField(out, 4, part.name, v)
	}
	return nil
}

// The files that a checked flow depends on. Checking a large flow takes a fifth of a second.

package catalog

import (
	"crypto/sha256"
	"sync"
)

// files reads the files that a flow names and remembers their contents.
type files struct {
	load    func(path string) ([]byte, error)
	mu      sync.Mutex
	digests map[string][sha256.Size]byte // the zero value for a missing file
}

// read reads a file.
func (f *files) read(path string) ([]byte, error) {
	src, err := f.load(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, again := f.digests[path]; !again {
		f.digests[path] = digestOf(src, err)
	}
	return src, err
}

// unchanged reports whether all files are as they were read first.
func (f *files) unchanged() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, digest := range f.digests {
		if digestOf(f.load(path)) != digest { //lint:ignore mapiter all have to be the same
			return false
		}
	}
	return true
}

func digestOf(src []byte, err error) (digest [sha256.Size]byte) {
	if err != nil {
		return digest
	}
	return sha256.Sum256(src)
}

// Read reads a file by its path relative to the flow. A change of it invalidates the flow.
func (f *Flow) Read(path string) ([]byte, error) { return f.files.read(path) }

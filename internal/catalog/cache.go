// A cache of checked flows, valid until one of their files changes. Checking a large flow takes
// a fifth of a second.

package catalog

import (
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/graphrun/graphrun/spec"
)

// known holds checked flows by path. The zero value is ready to use.
type known struct {
	mu    sync.Mutex
	flows map[string]*Flow
}

// get returns the flow of a path if its files are unchanged, or nil.
func (k *known) get(name string, src []byte) *Flow {
	k.mu.Lock()
	flow := k.flows[name]
	k.mu.Unlock()
	if flow == nil || flow.digest != sha256.Sum256(src) || !flow.read.same() {
		return nil
	}
	return flow
}

func (k *known) put(flow *Flow) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.flows == nil {
		k.flows = map[string]*Flow{}
	}
	k.flows[flow.Path] = flow
}

func (k *known) drop(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.flows, name)
}

// reading reads the files that a flow names and remembers their contents.
type reading struct {
	load  func(path string) ([]byte, error)
	mu    sync.Mutex
	files map[string][sha256.Size]byte // the zero value for a missing file
}

func newReading(name string) *reading {
	return &reading{load: spec.Beside(name), files: map[string][sha256.Size]byte{}}
}

// file reads a file.
func (r *reading) file(path string) ([]byte, error) {
	src, err := r.load(path)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.files[path]; !again {
		r.files[path] = digestOf(src, err)
	}
	return src, err
}

// same reports whether the files are unchanged.
func (r *reading) same() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, digest := range r.files {
		if digestOf(r.load(path)) != digest { //lint:ignore mapiter all have to be the same
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

// errUnread stands for a file that was not read yet.
var errUnread = errors.New("the flow was not read from a folder")

// Read reads a file by its path relative to the flow. A change of it invalidates the flow.
func (f *Flow) Read(path string) ([]byte, error) {
	if f.read == nil {
		return nil, errUnread
	}
	return f.read.file(path)
}

// Once returns the result of the first call of make for the flow.
func (f *Flow) Once(make func() any) any {
	f.once.Do(func() { f.made = make() })
	return f.made
}

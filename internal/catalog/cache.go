// Flows that were checked before, for as long as none of the files changes that they
// are made of: checking a large one takes a fifth of a second.

package catalog

import (
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/graphrun/graphrun/spec"
)

// known are flows that were checked, by path. Its zero value is ready.
type known struct {
	mu    sync.Mutex
	flows map[string]*Flow
}

// get is the flow of a path if it is still what it was; nil: it is not.
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

// reading reads the files that a flow names, and notes what they held.
type reading struct {
	load  func(path string) ([]byte, error)
	mu    sync.Mutex
	files map[string][sha256.Size]byte // of none, where there was no file
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

// same reports whether the files hold what they held.
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

// errUnread stands for a file of a flow that nobody has opened.
var errUnread = errors.New("the flow was not read from a folder")

// Read reads a file by its path from the folder of the flow's own; changes of it make
// the flow another one.
func (f *Flow) Read(path string) ([]byte, error) {
	if f.read == nil {
		return nil, errUnread
	}
	return f.read.file(path)
}

// Once is what make made of the flow when it was asked first.
func (f *Flow) Once(make func() any) any {
	f.once.Do(func() { f.made = make() })
	return f.made
}

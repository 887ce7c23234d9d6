// Package answers matches what people say with what a run asks: answers that are given in
// advance, the names of questions, and who settles a question first.
package answers

import (
	"maps"
	"slices"
	"sync"
)

// Book holds the answers that are given in advance, by the target of their question. A
// run shares its own with its subgraphs. It is safe for concurrent use.
type Book struct {
	mu       sync.Mutex
	byTarget map[string][]string
}

// NewBook holds what is given: lists of answers by target.
func NewBook(given map[string][]string) *Book {
	b := &Book{byTarget: make(map[string][]string, len(given))}
	for target, answers := range given {
		b.byTarget[target] = slices.Clone(answers)
	}
	return b
}

// Take takes the next answer to a question: one for the very element that asks,
// or for any element.
func (b *Book) Take(target string) (answer string, given bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range [...]string{target, WithoutIndexes(target)} {
		if list := b.byTarget[name]; len(list) > 0 {
			b.byTarget[name] = list[1:]
			return list[0], true
		}
	}
	return "", false
}

// Left names the targets of answers that nothing has asked for.
func (b *Book) Left() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, target := range slices.Sorted(maps.Keys(b.byTarget)) {
		if len(b.byTarget[target]) > 0 {
			out = append(out, target)
		}
	}
	return out
}

// All are the answers that nothing has asked for.
func (b *Book) All() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string][]string{}
	for target, list := range b.byTarget { //lint:ignore mapiter a copy
		if len(list) > 0 {
			out[target] = slices.Clone(list)
		}
	}
	return out
}

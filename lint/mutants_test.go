package lint

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/spec"
)

// mutant is one of the texts with a few lines and words changed.
func mutant(r *rand.Rand, texts, words []string) string {
	text := texts[r.IntN(len(texts))]
	for range 1 + r.IntN(3) {
		lines := strings.Split(text, "\n")
		i := r.IntN(len(lines))
		switch r.IntN(4) {
		case 0:
			lines = append(lines[:i:i], lines[i+1:]...)
		case 1:
			if fields := strings.Fields(lines[i]); len(fields) > 0 {
				lines[i] = strings.Replace(lines[i], fields[r.IntN(len(fields))], words[r.IntN(len(words))], 1)
			}
		case 2:
			text = strings.ReplaceAll(text, words[r.IntN(len(words))], words[r.IntN(len(words))])
			continue
		case 3:
			other := strings.Split(texts[r.IntN(len(texts))], "\n")
			lines[i] += "\n" + other[r.IntN(len(other))]
		}
		text = strings.Join(lines, "\n")
	}
	return text
}

// Checking any file ends without a panic. So does computing the bounds of a graph without
// errors.
func TestMutants(t *testing.T) {
	t.Parallel()
	var texts, words []string
	for _, path := range append(flows(t, "../testdata/defects/*/*"), flows(t, "../testdata/clean/*")...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		words = append(words, strings.FieldsFunc(string(text), func(c rune) bool { return strings.ContainsRune(" \n{}[],:\"'", c) })...)
	}
	text := ""
	defer func() {
		if problem := recover(); problem != nil {
			t.Errorf("panic: %v\n%s", problem, text)
		}
	}()
	r := rand.New(rand.NewPCG(1, 2))
	for range longtest.Choose(300, 2000) {
		text = mutant(r, texts, words)
		g, found := spec.Parse("mutant.yaml", []byte(text), spec.Options{})
		found = append(found, spec.Check(g)...)
		found = append(found, Check(g, Options{Broken: FirstError(found), Load: func(string) ([]byte, error) { return nil, os.ErrNotExist }})...)
		if !found.HasErrors() {
			bound.Of(g, bound.Options{})
		}
	}
}

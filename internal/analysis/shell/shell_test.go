package shell_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/analysis/shell"
	"github.com/graphrun/graphrun/spec"
)

// Spaces separate the words of a command. Words in brackets are code.
func TestCode(t *testing.T) {
	for _, line := range []string{
		"sh -c [x]",
		"/bin/bash -euc [x] name",
		"sh file.sh",
		"python3.12 -c [x]",
		"node -e [x]",
		"node --eval [x]",
		"node --eval",
		"lua -e [x]",
		"pwsh -NoProfile -Command [x]",
		"awk -F : -v a=1 [x] file",
		"awk -f file x",
		"deno eval [x]",
		"deno run x",
		"flock /tmp/l -c [x]",
		"flock /tmp/l sh -c [x]",
		"flock /tmp/l cat x",
		"env A=1 sh -c [x]",
		"sudo -u me nice -n 3 sh -c [x]",
		"timeout -k 3 10 perl -e [x]",
		"docker exec -it box sh -c [x]",
		"kubectl exec pod -- bash -c [x]",
		"kubectl get pods",
		"find . -name x -exec sh -c [y] ;",
		"find . -name x",
		"xargs -n 1 sh -c [x]",
		"ssh -p 22 host [ls] [x]",
		"su me -c [x]",
		"watch [ls]",
		"cat x",
	} {
		words := strings.Fields(line)
		var want, got []string
		for i, word := range words {
			if code, is := strings.CutPrefix(word, "["); is {
				words[i] = strings.TrimSuffix(code, "]")
				want = append(want, words[i])
			}
		}
		src := "graphrun: v1\nname: g\nstart: a\nnodes: {a: {kind: exec, command: ['" + strings.Join(words, "', '") + "']}}\n"
		g, _ := spec.Parse("g.yaml", []byte(src), spec.Options{})
		for _, span := range shell.FindCode(g.Nodes[0].Field("command")) {
			got = append(got, strings.Trim(src[span.From:span.To], "'"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: code is %q, want %q", line, got, want)
		}
	}
}

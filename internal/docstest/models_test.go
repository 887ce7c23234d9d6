// The models that a reader copies from docs, examples and templates exist.

package docstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model/price"
)

// modelName finds models of the two providers whose models are in the table: behind
// their provider's name, or by the names that they give.
var modelName = regexp.MustCompile(`\b(?:(openai|anthropic)/([a-z0-9][a-z0-9.-]*[a-z0-9])|((?:claude|gpt)-[a-z0-9][a-z0-9.-]*[a-z0-9]|o[1-9]-(?:mini|pro)))`)

// otherNames look like models and are none.
func otherNames() []string {
	return []string{
		"openai/openai-go",       // a library
		"openai/gpt-of-tomorrow", // what rule unknown-price finds
	}
}

func TestModelsExist(t *testing.T) {
	seen := map[string]bool{}
	check := func(path string) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range modelName.FindAllStringSubmatch(string(src), -1) {
			name := m[1] + "/" + m[2]
			if m[3] != "" {
				name = "openai/" + m[3]
				if strings.HasPrefix(m[3], "claude") {
					name = "anthropic/" + m[3]
				}
			}
			prices := price.Of(name)
			if _, known := prices.MaxTotalCost(1); !known && !slices.Contains(otherNames(), name) {
				t.Errorf("%s names the model %s, which the table of prices does not know", path, name)
			}
			seen[name] = true
		}
	}
	check(filepath.Join(root(), "README.md"))
	for _, dir := range []string{"docs", "examples", "internal/templates", "internal/cli", "spec"} {
		err := filepath.WalkDir(filepath.Join(root(), dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, "_test.go") && slices.Contains([]string{".go", ".md", ".yaml", ".json"}, filepath.Ext(path)) {
				check(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !seen["openai/gpt-6-luna"] || !seen["anthropic/claude-sonnet-5-5"] { // or nothing was found at all
		t.Errorf("found only %v", seen)
	}
}

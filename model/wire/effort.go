// Levels of reasoning of OpenAI's models, from their pages
// (developers.openai.com/api/docs/models). Models refuse levels that are not listed.

package wire

import (
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
)

// levels are all levels, the least first; none turns reasoning off.
var levels = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// dated is how the name of a model may end.
const dated = `(-20\d\d-\d\d-\d\d)?$`

// efforts are models by their names, with the least and the highest of their levels.
// Gateways put a prefix before a name, and take all levels.
var efforts = []struct {
	name        *regexp.Regexp
	least, most string
}{
	{regexp.MustCompile(`^(o1|o3|o3-mini|o4-mini)` + dated), "low", "high"},
	{regexp.MustCompile(`^gpt-5(-mini|-nano)?` + dated), "minimal", "high"},
	{regexp.MustCompile(`^gpt-5\.1` + dated), "none", "high"},
	{regexp.MustCompile(`^gpt-5\.[2-5](-mini|-nano)?` + dated), "none", "xhigh"},
	{regexp.MustCompile(`^(gpt-5\.6(-sol|-terra|-luna)?|gpt-6-(sol|luna)|gpt-6\.1-terra)` + dated), "none", "max"},
	{regexp.MustCompile(`^(gpt-6-astra|gpt-6\.[12]-sol)` + dated), "low", "max"},
}

// Effort returns the nearest level that a model of OpenAI takes. Other models and
// words stay as they are. It fails if a model that always reasons should not.
func Effort(name, level string) (string, error) {
	asked := slices.Index(levels, level)
	for _, e := range efforts {
		if asked < 0 || !e.name.MatchString(name) {
			continue
		}
		least, most := slices.Index(levels, e.least), slices.Index(levels, e.most)
		switch {
		case level == "none" && least > 0:
			return "", AlwaysReasons(name, levels[least:most+1])
		case level == "minimal" && e.least != "minimal":
			return "low", nil // the least reasoning that there is
		}
		return levels[min(asked, most)], nil
	}
	return level, nil
}

// AlwaysReasons returns the failure of reasoning: none for a model without it.
func AlwaysReasons(name string, has []string) *model.Error {
	return Invalid("reasoning is none; %s always reasons: it takes %s", name, strings.Join(has, ", "))
}

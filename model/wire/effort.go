// Levels of reasoning that OpenAI's models have, which the pages of the models list
// (developers.openai.com/api/docs/models): a level that is not listed is refused there.

package wire

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
)

// levels are all there are, the least first; none is no reasoning at all.
func levels() []string { return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} }

// dated is how the name of a model may end.
const dated = `(-20\d\d-\d\d-\d\d)?$`

// Models by their names, and the least and the highest of their levels. Gateways put
// something before a name, and take all levels.
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

// Effort is a level of reasoning as one of OpenAI's models takes it: the nearest that
// it has. A model that always reasons can't be told not to: that is an *model.Error of
// the kind invalid_input. Other models, and words that are no level, stay as they are.
func Effort(name, level string) (string, error) {
	all := levels()
	asked := slices.Index(all, level)
	for _, e := range efforts {
		if asked < 0 || !e.name.MatchString(name) {
			continue
		}
		least, most := slices.Index(all, e.least), slices.Index(all, e.most)
		switch {
		case level == "none" && least > 0:
			return "", AlwaysReasons(name, all[least:most+1])
		case level == "minimal" && e.least != "minimal":
			return "low", nil // the least reasoning that there is
		}
		return all[min(asked, most)], nil
	}
	return level, nil
}

// AlwaysReasons is the failure of a request that a model which reasons should not.
func AlwaysReasons(name string, has []string) *model.Error {
	return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(
		"reasoning is none; %s always reasons: it takes %s", name, strings.Join(has, ", "))}
}

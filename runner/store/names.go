// What ids of runs and labels may be.

package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxName is the most characters of a run's id, of a session's, and of a label's key and
// value.
const MaxName = 200

// CheckLength says that a name, which what names, is too long.
func CheckLength(what, name string) error {
	if n := utf8.RuneCountInString(name); n > MaxName {
		return fmt.Errorf("%s has %d characters; at most %d are allowed", what, n, MaxName)
	}
	return nil
}

// CheckID says what is wrong with the id of a run or a session, which what names; an empty
// one is none.
func CheckID(what, id string) error {
	if err := CheckLength(what, id); err != nil {
		return err
	}
	if strings.ContainsFunc(id, badInID) {
		return fmt.Errorf("%s %q: only letters, digits and -_.: are allowed", what, id)
	}
	return nil
}

func badInID(r rune) bool {
	ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r)
	return !ok
}

// CheckLabels says what is wrong with labels.
func CheckLabels(labels map[string]string) error {
	var problems []string
	for key, value := range labels {
		switch {
		case key == "":
			problems = append(problems, "a label has no key")
		case utf8.RuneCountInString(key) > MaxName:
			problems = append(problems, fmt.Sprintf("the key of label %.20q… has more than %d characters", key, MaxName))
		case utf8.RuneCountInString(value) > MaxName:
			problems = append(problems, fmt.Sprintf("label %q has more than %d characters", key, MaxName))
		case !utf8.ValidString(key) || !utf8.ValidString(value):
			problems = append(problems, fmt.Sprintf("label %q is not UTF-8 text", key))
		}
	}
	slices.Sort(problems)
	if problems == nil {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// Limits of run ids, session ids and labels.

package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxName bounds the characters of ids of runs and sessions, and of labels.
const MaxName = 200

// CheckLength returns an error, which begins with what, if name is too long.
func CheckLength(what, name string) error {
	if n := utf8.RuneCountInString(name); n > MaxName {
		return fmt.Errorf("%s has %d characters; at most %d are allowed", what, n, MaxName)
	}
	return nil
}

// CheckID validates the id of a run or a session, which may be empty. Errors begin with what.
func CheckID(what, id string) error {
	if err := CheckLength(what, id); err != nil {
		return err
	}
	if strings.ContainsFunc(id, invalidInID) {
		return fmt.Errorf("%s %q: only letters, digits and -_.: are allowed", what, id)
	}
	return nil
}

func invalidInID(r rune) bool {
	ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r)
	return !ok
}

// CheckLabels returns an error that lists every invalid label.
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

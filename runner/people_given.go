// Answers given in advance.

package runner

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/internal/flowtree"
	"github.com/graphrun/graphrun/runner/machine"
)

// checkAnswers returns an *InputError for invalid answers, and for questions that are never asked again.
func (d *driver) checkAnswers() error {
	failed := &InputError{Problems: d.flow.checkTargets(&d.opts)}
	open := d.openQuestions()
	for _, target := range slices.Sorted(maps.Keys(d.opts.Answers)) {
		var problem error
		if i := flowtree.FindQuestion(open, target); i >= 0 {
			given := d.opts.Answers[target]
			problem = flowtree.CheckFits(&open[i], given[:min(1, len(given))]) // an empty list answers nothing
		} else if text := d.whoAnsweredForGood(target); text != "" {
			problem = errors.New(text)
		}
		if problem != nil && !slices.Contains(failed.Problems, problem.Error()) {
			failed.Problems = append(failed.Problems, problem.Error())
		}
	}
	if len(failed.Problems) > 0 {
		return failed
	}
	return nil
}

// whoAnsweredForGood returns who has answered a question that is not asked again, or "".
func (d *driver) whoAnsweredForGood(target string) string {
	node, _, _ := strings.Cut(target, "/")
	node, _, _ = strings.Cut(node, ":")
	if node = machine.WithoutIndexes(node); d.state.MayRun(node) {
		return ""
	}
	last := d.lastAnswer(target)
	if last != nil && last.Kind == machine.TimerFired && d.state.Ended() {
		return "" // a resume asks again
	}
	return d.describeAnswer(last)
}

// refuseAnswers returns an *InputError for all answers to a run that has completed.
func (d *driver) refuseAnswers() error {
	failed := &InputError{}
	for _, target := range slices.Sorted(maps.Keys(d.opts.Answers)) {
		failed.Problems = append(failed.Problems, d.whyNotAsked(target, nil).Error())
	}
	if len(failed.Problems) > 0 {
		return failed
	}
	return nil
}

// checkTargets returns the problems of answers, breakpoints and model parameters that name no node.
func (f *Flow) checkTargets(opts *Options) []string {
	var problems []string
	for _, target := range slices.Sorted(maps.Keys(opts.Answers)) {
		node, err := f.tree.CheckTarget(target)
		if err != nil {
			problems = append(problems, fmt.Sprintf("answer for %q: %v", target, err))
			continue
		}
		if err := flowtree.CheckAnswers(node, target, opts.Answers[target]); err != nil {
			problems = append(problems, err.Error())
		}
	}
	for _, path := range slices.Concat(opts.PauseBefore, opts.PauseAfter) {
		if _, _, err := f.tree.Find(path, false); err != nil {
			problems = append(problems, fmt.Sprintf("breakpoint %q: %v", path, err))
		}
	}
	for _, p := range opts.ModelParams {
		if p.Node == "" {
			continue
		}
		if _, _, err := f.tree.Find(p.Node, false); err != nil {
			problems = append(problems, fmt.Sprintf("model parameter %q: %v", p.Node+":"+p.Key, err))
		}
	}
	return problems
}

// answerBook holds the unused answers that were given in advance, by target.
type answerBook map[string][]string

func newAnswerBook(given map[string][]string) answerBook {
	book := maps.Clone(given)
	maps.DeleteFunc(book, func(_ string, answers []string) bool { return len(answers) == 0 })
	return book
}

// takeAnswer removes and returns the next answer for the element that asks, or for any element.
func (b answerBook) takeAnswer(target string) (answer string, given bool) {
	for _, name := range [...]string{target, machine.WithoutIndexes(target)} {
		if list := b[name]; len(list) > 0 {
			if b[name] = list[1:]; len(list) == 1 {
				delete(b, name)
			}
			return list[0], true
		}
	}
	return "", false
}

// targets returns the sorted targets of the answers that are left.
func (b answerBook) targets() []string { return slices.Sorted(maps.Keys(b)) }

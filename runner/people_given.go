// Answers given in advance, and whether they fit.

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

// checkAnswers reports answers for questions that nobody can ask, that are answered
// already, or that are not legal, before anything is done.
func (d *driver) checkAnswers() error {
	failed := &InputError{Problems: d.flow.badTargets(&d.opts)}
	open := d.openQuestions()
	for _, target := range slices.Sorted(maps.Keys(d.opts.Answers)) {
		var problem error
		if i := flowtree.FindQuestion(open, target); i >= 0 {
			given := d.opts.Answers[target]
			problem = flowtree.CheckFits(&open[i], given[:min(1, len(given))]) // an empty list answers nothing
		} else if text := d.answeredForGood(target); text != "" {
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

// answeredForGood says who has answered a question that will not be asked again; "":
// it may be asked.
func (d *driver) answeredForGood(target string) string {
	node, _, _ := strings.Cut(target, "/")
	node, _, _ = strings.Cut(node, ":")
	if node = machine.WithoutIndexes(node); d.state.MayRun(node) {
		return ""
	}
	last := d.lastAnswer(target)
	if last != nil && last.Kind == machine.TimerFired && d.state.Ended() {
		return "" // who takes the run up asks again
	}
	return d.tellAnswer(last)
}

// refuseAll refuses answers for a run that has completed.
func (d *driver) refuseAll() error {
	failed := &InputError{}
	for _, target := range slices.Sorted(maps.Keys(d.opts.Answers)) {
		failed.Problems = append(failed.Problems, d.whyNotAsked(target, nil).Error())
	}
	if len(failed.Problems) > 0 {
		return failed
	}
	return nil
}

// badTargets says which answers, breakpoints and model parameters of a run name
// no node.
func (f *Flow) badTargets(opts *Options) []string {
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

// answerBook holds the answers given in advance that nothing has asked for, by the target of
// their question.
type answerBook map[string][]string

func newAnswerBook(given map[string][]string) answerBook {
	book := maps.Clone(given)
	maps.DeleteFunc(book, func(_ string, answers []string) bool { return len(answers) == 0 })
	return book
}

// take removes and returns the next answer to a question: one for the very element that asks,
// or one for any element.
func (b answerBook) take(target string) (answer string, given bool) {
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

// left returns the sorted targets of the answers that are left.
func (b answerBook) left() []string { return slices.Sorted(maps.Keys(b)) }

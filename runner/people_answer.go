// Answers from other processes, and answers given in advance.

package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/internal/flowtree"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Answer answers questions of a run, all or none. A driver receives the answers within about a second.
// Without a driver they are stored for the next one. The error is store.ErrNoRun, says that the driver
// does not react, or is an *InputError for an invalid answer or one without an open question.
func (r *Runner) Answer(ctx context.Context, runID string, answers []store.GivenAnswer, by string) (driven bool, err error) {
	var other *store.DrivenError
	for !driven && err == nil {
		_, err = r.withJournal(ctx, runID, 0, func(journal store.Journal) (*Result, error) {
			return nil, r.answerUndriven(runID, journal, answers, by)
		})
		if !errors.As(err, &other) {
			return false, err
		}
		driven, err = r.offerAnswers(ctx, runID, answers, by)
	}
	return driven, err
}

// answerUndriven adds answers to the journal of a run without a driver.
func (r *Runner) answerUndriven(runID string, journal store.Journal, answers []store.GivenAnswer, by string) error {
	d, err := r.loadDriver(runID, Options{})
	if err != nil {
		return err
	}
	events, err := d.answerEvents(answers, by)
	if err != nil {
		return err
	}
	d.countPauseEvents()
	d.setEmitted(&events[0])
	for i := range events {
		events[i].Hold = true
	}
	for i := range events { // don't store an answer that can't be applied
		if err := d.replayEvent(&events[i]); err != nil {
			return err
		}
	}
	if err := journal.Append(events...); err != nil {
		return err
	}
	return journal.SaveSummary(d.newSummary(d.recordedResult()))
}

const (
	offerPoll = 50 * time.Millisecond
	offerTime = 15 * time.Second // the longest wait for a driver
)

// offerAnswers sends answers to the driver of a run and waits until it settles them. If the driver is
// gone, it withdraws the offer, and settled is false.
func (r *Runner) offerAnswers(ctx context.Context, runID string, answers []store.GivenAnswer, by string) (settled bool, err error) {
	offer := store.Offer{ID: rand.Text(), Answers: answers, By: by, At: r.cfg.Clock.Now().UTC()}
	kept := r.cfg.Store
	if err := kept.SendOffer(runID, offer); err != nil {
		return false, err
	}
	for end := time.Now().Add(offerTime); ; {
		open, _, err := kept.OfferStatus(offer.ID)
		lines, listErr := kept.List(store.RunFilter{ID: runID})
		driven := listErr == nil && len(lines) == 1 && lines[0].Owner != ""
		if err = cmp.Or(err, listErr); err == nil && open && driven && time.Now().Before(end) {
			if err = sleep(ctx, systemClock{}, offerPoll); err == nil {
				continue
			}
		}
		open, refused, withdrawErr := kept.WithdrawOffer(offer.ID)
		switch {
		case err != nil || withdrawErr != nil:
			return false, errors.Join(err, withdrawErr)
		case refused != "":
			return true, &InputError{Problems: []string{refused}}
		case open && driven:
			return false, fmt.Errorf("%s, which drives run %q, did not take the answer within %s; nothing has changed",
				lines[0].Owner, runID, offerTime)
		}
		return !open, nil
	}
}

// DescribeLastAnswer returns a line with the last answer to a question, its author and time, or "".
func (r *Runner) DescribeLastAnswer(runID, target string) (string, error) {
	d, err := r.loadDriver(runID, Options{})
	if err != nil {
		return "", err
	}
	return d.describeLastAnswer(target), nil
}

func (d *driver) describeLastAnswer(target string) string {
	return d.describeAnswer(d.lastAnswer(target))
}

// lastAnswer returns the event of a person's last answer to a question, else of its timeout, or nil.
func (d *driver) lastAnswer(target string) *machine.Event {
	kept := d.flow.runner.cfg.Store
	if kept == nil {
		return nil
	}
	var last *machine.Event
	rec := record{id: d.opts.RunID, store: kept}
	err := rec.visitEvents(func(e *machine.Event) (bool, error) {
		byPerson := e.Kind == machine.Answered && e.By != ""
		byTime := e.Kind == machine.TimerFired && e.Timer == machine.AnswerTimer
		if (e.Target == target || machine.WithoutIndexes(e.Target) == target) && (byPerson || byTime && last == nil) {
			last = e
		}
		return true, nil
	})
	if err != nil {
		return nil
	}
	return last
}

// describeAnswer returns a line about an answer or a timeout, or "" for nil.
func (d *driver) describeAnswer(e *machine.Event) string {
	if e == nil {
		return ""
	}
	at := time.Unix(0, e.At).Local().Format(time.DateTime)
	if e.Kind == machine.TimerFired {
		return fmt.Sprintf("question %q timed out without an answer at %s", e.Target, at)
	}
	return fmt.Sprintf("%q was answered %s by %s at %s", e.Target, appendValue(nil, d.mask.MaskValue(e.Output)), e.By, at)
}

// warnUnused warns that an answer was not used because the task that asked had ended.
func (d *driver) warnUnused(e *machine.Event) {
	by := ""
	if e.By != "" {
		by = " of " + e.By
	}
	d.emitMasked(e.Task, &Said{
		Type: "warning", Message: "the answer" + by + " for " + strconv.Quote(e.Target) + " was not used: what asked for it had ended",
	})
}

// settleOffer settles answers of other processes. It returns the first of their stored events, or nil.
func (d *driver) settleOffer() *machine.Event {
	offer := d.offers[0]
	d.offers = d.offers[1:]
	events, err := d.answerEvents(offer.Answers, offer.By)
	refused := ""
	if err != nil {
		refused = err.Error()
	} else {
		d.setEmitted(&events[0])
	}
	accepted, err := d.journal.SettleOffer(offer.ID, events, refused)
	if err != nil {
		d.journalErr = d.journalError(err)
		return nil
	}
	if !accepted || len(events) == 0 {
		return nil
	}
	d.queue, d.durable = append(slices.Clone(events[1:]), d.queue...), len(events)
	return &events[0]
}

// answerEvents returns the events for answers, or an *InputError. Each answers the first open question
// with its target.
func (d *driver) answerEvents(offered []store.GivenAnswer, by string) ([]machine.Event, error) {
	open := d.openQuestions()
	var events []machine.Event
	var problems []string
	for _, given := range offered {
		i := flowtree.FindQuestion(open, given.Target)
		if i < 0 {
			problems = append(problems, d.explainNotAsked(given.Target, open).Error())
			continue
		}
		value, err := open[i].Parse(given.Text)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		event := d.answerEvent(&open[i], value, by)
		d.vault.MaskEvent(&event)
		events = append(events, event)
		open = slices.Delete(open, i, i+1)
	}
	if len(problems) > 0 || len(events) == 0 {
		return nil, &InputError{Problems: problems}
	}
	return events, nil
}

func (d *driver) openQuestions() []machine.Question {
	if d.state.HasEnded() {
		return nil
	}
	return d.state.Questions()
}

// explainNotAsked returns an error that says why no open question has the target.
func (d *driver) explainNotAsked(target string, open []machine.Question) error {
	if _, err := d.flow.tree.CheckTarget(target); err != nil {
		return fmt.Errorf("answer for %q: %w", target, err)
	}
	if text := d.describeLastAnswer(target); text != "" {
		return errors.New(text)
	}
	switch {
	case d.state.HasEnded():
		return fmt.Errorf("answer for %q: run %q has ended (%s) and asks nothing", target, d.opts.RunID, d.state.Status)
	case len(open) == 0:
		return fmt.Errorf("answer for %q: run %q asks nothing now", target, d.opts.RunID)
	}
	names := make([]string, len(open))
	for i := range open {
		names[i] = open[i].Target()
	}
	return fmt.Errorf("answer for %q: run %q does not ask that now; it asks: %s", target, d.opts.RunID, strings.Join(names, ", "))
}

// newSummary returns the summary of a result, for lists of runs.
func (d *driver) newSummary(result *Result) store.RunSummary {
	s := store.RunSummary{Status: result.Status, Reason: result.Reason, Quality: result.Quality, Steps: result.Steps, Updated: d.clock.Now()}
	if result.Due != nil && result.Status == machine.Paused && result.Reason != "pause" {
		s.Due = *result.Due
	}
	return s
}

// timeOrNil returns the time of Unix nanoseconds, or nil for 0.
func timeOrNil(at int64) *time.Time {
	if at == 0 {
		return nil
	}
	t := time.Unix(0, at).UTC()
	return &t
}

// checkAnswers returns an *InputError for answers that are invalid or whose question is never asked
// again.
func (d *driver) checkAnswers() error {
	problems, open := d.flow.checkTargets(&d.opts), d.openQuestions()
	for _, target := range slices.Sorted(maps.Keys(d.opts.Answers)) {
		var problem error
		if i := flowtree.FindQuestion(open, target); i >= 0 {
			given := d.opts.Answers[target]
			problem = flowtree.CheckAnswerTexts(&open[i], given[:min(1, len(given))]) // an empty list answers nothing
		} else if text := d.describeFinalAnswer(target); text != "" {
			problem = errors.New(text)
		}
		if problem != nil && !slices.Contains(problems, problem.Error()) {
			problems = append(problems, problem.Error())
		}
	}
	return inputError(problems)
}

// describeFinalAnswer describes the answer to a question that is never asked again, or returns "".
func (d *driver) describeFinalAnswer(target string) string {
	node, _, _ := strings.Cut(target, "/")
	node, _, _ = strings.Cut(node, ":")
	if node = machine.WithoutIndexes(node); d.state.MayRun(node) {
		return ""
	}
	last := d.lastAnswer(target)
	if last != nil && last.Kind == machine.TimerFired && d.state.HasEnded() {
		return "" // a resume asks again
	}
	return d.describeAnswer(last)
}

// refuseAnswers returns an *InputError for all answers to a run that has completed.
func (d *driver) refuseAnswers() error {
	var problems []string
	for _, target := range slices.Sorted(maps.Keys(d.opts.Answers)) {
		problems = append(problems, d.explainNotAsked(target, nil).Error())
	}
	return inputError(problems)
}

// checkTargets returns problems of answers, and of breakpoints and model parameters that name no node.
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
		if _, _, err := f.tree.FindNode(path, false); err != nil {
			problems = append(problems, fmt.Sprintf("breakpoint %q: %v", path, err))
		}
	}
	for _, p := range opts.ModelParams {
		if p.Node == "" {
			continue
		}
		if _, _, err := f.tree.FindNode(p.Node, false); err != nil {
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

// takeAnswer removes and returns the next answer for a target or, if it is an element, for its node.
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

// sortedTargets returns the sorted targets of the unused answers.
func (b answerBook) sortedTargets() []string { return slices.Sorted(maps.Keys(b)) }

// Answering the questions of a run from outside of it.

package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/runner/internal/answers"
	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/jsonline"
	"github.com/graphrun/graphrun/runner/internal/wallclock"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Answer answers questions of a run, all of them or none: a driver that lives goes
// on with the answers within about a second, else they are kept for whoever takes
// the run up. driven says which. The error is an *InputError when an answer is not
// legal, or nobody asks for it (any more: it says who has answered what, and when);
// store.ErrNoRun; or that a driver that lives did not take the answers in time: nothing
// has changed then.
func (r *Runner) Answer(ctx context.Context, runID string, answers []store.GivenAnswer, by string) (driven bool, err error) {
	if r.cfg.Store == nil {
		return false, fmt.Errorf("run %q: %w: there is no store", runID, store.ErrNoRun)
	}
	var leased *store.LeasedError
	for {
		journal, err := r.cfg.Store.Open(runID, r.cfg.Owner)
		if err == nil {
			return false, errors.Join(r.answerUndriven(runID, journal, answers, by), journal.Close())
		}
		if !errors.As(err, &leased) {
			return false, err
		}
		settled, err := r.offer(ctx, runID, answers, by)
		if settled || err != nil {
			return settled, err
		}
	}
}

// answerUndriven adds answers to the journal of a run that nobody drives.
func (r *Runner) answerUndriven(runID string, journal store.Journal, answers []store.GivenAnswer, by string) error {
	rec, err := r.loadFrom(runID, -1)
	if err != nil {
		return err
	}
	d, err := rec.replayed(Options{}, rec.Events)
	if err != nil {
		return err
	}
	events, err := d.accept(answers, by)
	if err != nil {
		return err
	}
	for i := range events {
		events[i].Hold = true
	}
	for i := range events { // before they are saved: an answer that can't be applied must not be
		if err := d.replay(&events[i]); err != nil {
			return err
		}
	}
	if err := journal.AppendAll(events); err != nil {
		return err
	}
	result, err := d.recorded()
	if err != nil {
		return err
	}
	return journal.Note(d.summary(result))
}

// Limits of waiting for a driver that lives.
const (
	offerPoll = 50 * time.Millisecond
	offerTime = 15 * time.Second
)

// offer leaves answers for the driver of a run and waits until it has settled them.
// settled is false when there is no driver any more, and the offer is taken back.
func (r *Runner) offer(ctx context.Context, runID string, answers []store.GivenAnswer, by string) (settled bool, err error) {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	offer := store.Offer{ID: hex.EncodeToString(random[:]), Answers: answers, By: by, At: r.cfg.Clock.Now().UTC()}
	kept := r.cfg.Store
	if err := kept.Offer(runID, offer); err != nil {
		return false, err
	}
	for end := time.Now().Add(offerTime); ; {
		open, refused, err := kept.Offered(offer.ID)
		switch {
		case err != nil:
			_, _, withdrawErr := kept.Withdraw(offer.ID)
			return false, errors.Join(err, withdrawErr)
		case refused != "":
			_, _, err := kept.Withdraw(offer.ID)
			return true, errors.Join(&InputError{Problems: []string{refused}}, err)
		case !open:
			return true, nil
		}
		lines, err := kept.List(store.RunFilter{ID: runID})
		if err == nil && len(lines) == 1 && lines[0].Owner != "" && time.Now().Before(end) {
			err = wallclock.Sleep(ctx, wallclock.System{}, offerPoll)
			if err == nil {
				continue
			}
		}
		wasOpen, refused, withdrawErr := kept.Withdraw(offer.ID)
		switch {
		case err != nil || withdrawErr != nil:
			return false, errors.Join(err, withdrawErr)
		case refused != "": // at the last moment
			return true, &InputError{Problems: []string{refused}}
		case !wasOpen:
			return true, nil
		case len(lines) == 1 && lines[0].Owner != "":
			return false, fmt.Errorf("%s, which drives run %q, did not take the answer within %s; nothing has changed",
				lines[0].Owner, runID, offerTime)
		}
		return false, nil
	}
}

// WhoAnswered says in a line who has answered a question of that name (see
// Pending.Target) last, what, and when; "": nobody.
func (r *Runner) WhoAnswered(runID, target string) (string, error) {
	rec, err := r.loadFrom(runID, -1)
	if err != nil {
		return "", err
	}
	d, err := rec.replayed(Options{}, rec.Events)
	if err != nil {
		return "", err
	}
	return d.whoAnswered(target), nil
}

// whoAnswered says who has answered a question last.
func (d *driver) whoAnswered(target string) string { return d.tellAnswer(d.lastAnswer(target)) }

// lastAnswer finds in the journal how a question was answered last: by a person, or
// else by the end of its time; nil: not at all. Only a refusal asks.
func (d *driver) lastAnswer(target string) *machine.Event {
	kept := d.flow.runner.cfg.Store
	if kept == nil {
		return nil
	}
	var last *machine.Event
	err := journal.EachEvent(kept, d.outermost().opts.RunID, func(e *machine.Event) {
		byPerson := e.Kind == machine.Answered && e.By != ""
		byTime := e.Kind == machine.TimerFired && e.Timer == machine.AnswerTimer
		if (e.Target == target || answers.WithoutIndexes(e.Target) == target) && (byPerson || byTime && last == nil) {
			own := *e
			last = &own
		}
	})
	if err != nil {
		return nil
	}
	return last
}

// tellAnswer says who answered what, and when.
func (d *driver) tellAnswer(e *machine.Event) string {
	if e == nil {
		return ""
	}
	at := time.Unix(0, e.At).Local().Format(time.DateTime)
	if e.Kind == machine.TimerFired {
		return fmt.Sprintf("%q was answered by nobody: its time was over at %s", e.Target, at)
	}
	return fmt.Sprintf("%q was answered %s by %s at %s", e.Target, quoted(d.mask.Value(e.Output)), e.By, at)
}

// quoted is a value as JSON in a message.
func quoted(v any) string {
	if text, ok := v.(string); ok {
		return strconv.Quote(text)
	}
	return string(jsonline.Value(nil, v))
}

// summary is how a run stands, for those who list runs.
func (d *driver) summary(result *Result) store.RunSummary {
	s := store.RunSummary{Status: result.Status, Reason: result.Reason, Quality: result.Quality, Steps: result.Steps, Updated: d.clock.Now()}
	if result.Due != nil && result.Status == machine.Paused && result.Reason != "pause" {
		s.Due = *result.Due
	}
	return s
}

// openTries is how often openSoon tries, every 20 ms.
const openTries = 50

// openSoon opens the journal of a run to go on with it. Whoever only leaves an answer
// there is gone in a moment, also where the machine is busy.
func (r *Runner) openSoon(ctx context.Context, runID string) (store.Journal, error) {
	for tries := 0; ; tries++ {
		journal, err := r.cfg.Store.Open(runID, r.cfg.Owner)
		if leased := (*store.LeasedError)(nil); tries == openTries || !errors.As(err, &leased) {
			return journal, err
		}
		if wallclock.Sleep(ctx, wallclock.System{}, 20*time.Millisecond) != nil {
			return nil, err
		}
	}
}

// Offers in memory.

package store

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// memoryOffer is an offer that is open, or refused.
type memoryOffer struct {
	Offer
	run     string
	refused string
}

// Offer leaves an offer.
func (m *Memory) Offer(runID string, offer Offer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
	if err != nil {
		return err
	}
	offer.Answers = slices.Clone(offer.Answers)
	m.offers = append(m.offers, &memoryOffer{Offer: offer, run: runID})
	if run.journal != nil {
		run.journal.wake()
	}
	return nil
}

// Offered says how an offer stands.
func (m *Memory) Offered(id string) (open bool, refused string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.offer(id); o != nil {
		return o.refused == "", o.refused, nil
	}
	return false, "", nil
}

// Withdraw forgets an offer.
func (m *Memory) Withdraw(id string) (open bool, refused string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.offer(id)
	if o == nil {
		return false, "", nil
	}
	m.forget(id)
	return o.refused == "", o.refused, nil
}

// offer is called with the lock held, and so is forget.
func (m *Memory) offer(id string) *memoryOffer {
	for _, o := range m.offers {
		if o.ID == id {
			return o
		}
	}
	return nil
}

func (m *Memory) forget(id string) {
	m.offers = slices.DeleteFunc(m.offers, func(o *memoryOffer) bool { return o.ID == id })
}

// Offers delivers offers.
func (j *memoryJournal) Offers() <-chan Offer { return j.offers }

func (j *memoryJournal) wake() {
	select {
	case j.change <- struct{}{}:
	default:
	}
}

// deliver delivers each offer once, until the journal is closed.
func (j *memoryJournal) deliver() {
	sent := map[string]bool{}
	for {
		j.store.mu.Lock()
		var next []Offer
		for _, o := range j.store.offers {
			if o.run == j.run.summary.ID && o.refused == "" && !sent[o.ID] {
				next = append(next, o.Offer)
			}
		}
		j.store.mu.Unlock()
		for _, offer := range next {
			sent[offer.ID] = true
			select {
			case j.offers <- offer:
			case <-j.gone:
				return
			}
		}
		select {
		case <-j.change:
		case <-j.gone:
			return
		}
	}
}

// Settle settles an offer.
func (j *memoryJournal) Settle(id string, events []machine.Event, refused string) (taken bool, err error) {
	if j.failed != nil {
		return false, j.failed
	}
	texts, size := make([][]byte, len(events)), 0
	for i := range events {
		if texts[i], err = EncodeEvent(&events[i]); err != nil {
			return false, fmt.Errorf("run %q: %w", j.run.summary.ID, err)
		}
		size += len(texts[i])
	}
	j.failed = j.write(func() {
		o := j.store.offer(id)
		switch {
		case o == nil:
		case refused != "":
			o.refused = refused
		default:
			j.store.forget(id)
			taken = true
			j.run.events = append(j.run.events, texts...)
			j.run.journaled += size
		}
	})
	return taken, j.failed
}

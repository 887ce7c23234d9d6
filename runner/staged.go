// Runs on a stage: what whoever drives the clock asks of the driver.

package runner

import "github.com/graphrun/graphrun/runner/store"

// staged is a driver as a stage sees it.
type staged struct{ driver *driver }

// Ask does what a request asks.
func (s staged) Ask(request store.Request) {
	s.driver.send(message{event: requested(request, s.driver.now())})
}

// Offer takes answers.
func (s staged) Offer(offer store.Offer) { s.driver.send(message{offer: &offer}) }

// AnswersLeft are the answers given in advance that nothing has asked for.
func (s staged) AnswersLeft() map[string][]string { return s.driver.answers.All() }

// Check reports answers that the run would not take.
func (s staged) Check(offer store.Offer) error {
	_, err := s.driver.accept(offer.Answers, offer.By)
	return err
}

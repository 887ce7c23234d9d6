// What an event came to: a driver that replays a journal has to know whether
// the machine took every event in it.

package machine

// Effect is what the last event came to. The zero value says that nothing came
// of it.
type Effect uint8

const (
	// Ignored is an event that came late, twice, or for nobody.
	Ignored Effect = iota
	// Applied is an event that changed the state, or could have.
	Applied
	// Retried is the end of an attempt after which another one follows.
	Retried
	// FailedForGood is the end of the last attempt of an execution, or of an
	// element of one.
	FailedForGood
	// CutOff is the end of an execution, or of an element, that was cancelled.
	CutOff
)

// taskEffect is what the end of an attempt came to.
func (t *task) taskEffect() Effect {
	switch t.status {
	case delayed:
		return Retried
	case failed:
		return FailedForGood
	case dropped:
		return CutOff
	}
	return Applied
}

// elementEffect is what the end of an element's attempt came to.
func (e *eachState) elementEffect(i int, run *elementRun, failure *Failure) Effect {
	switch {
	case run.cause != nil && run.cause.Kind == "cancelled":
		return CutOff
	case failure == nil:
		return Applied
	case e.attempts[i].attempt == run.attempt:
		return Retried
	}
	return FailedForGood
}

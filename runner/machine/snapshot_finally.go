// The nodes of finally in snapshots.

package machine

// savedFinale is finale.
type savedFinale struct {
	How        savedEnding       `json:"how"`
	Lost       []TaskID          `json:"lost,omitempty"`
	OutOfSteps bool              `json:"out_of_steps,omitempty"`
	Next       int               `json:"next"`
	Ran        []savedFinallyEnd `json:"ran,omitempty"`
	Hurried    bool              `json:"hurried,omitempty"`
	Over       bool              `json:"over,omitempty"`
}

// savedFinallyEnd is FinallyEnd.
type savedFinallyEnd struct {
	FinallyEnd
	Failure *int `json:"failure,omitempty"`
}

func (k *saver) finale(f *finale) *savedFinale {
	if f == nil {
		return nil
	}
	out := &savedFinale{
		How: *k.ending(&f.how), Lost: f.lost, OutOfSteps: f.outOfSteps, Next: f.next, Hurried: f.hurried, Over: f.over,
	}
	for _, end := range f.ran {
		out.Ran = append(out.Ran, savedFinallyEnd{end, k.failure(end.Failure)})
	}
	return out
}

func (r *restorer) finale(in *savedFinale) *finale {
	if in == nil || !r.within("node of finally", in.Next, len(r.plan.finally)+1) {
		return nil
	}
	f := &finale{
		how: *r.ending(&in.How), lost: in.Lost, outOfSteps: in.OutOfSteps, next: in.Next, hurried: in.Hurried, over: in.Over,
	}
	for _, end := range in.Ran {
		end.FinallyEnd.Failure = r.failure(end.Failure)
		f.ran = append(f.ran, end.FinallyEnd)
	}
	return f
}

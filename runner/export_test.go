package runner

// SnapshotAlways makes a runner write a snapshot as soon as the events are larger than the state.
func SnapshotAlways(r *Runner) { r.minSnapshotGap = 0 }

func (f *Flow) Runner() *Runner { return f.runner }

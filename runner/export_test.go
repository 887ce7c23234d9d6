package runner

// SnapshotAlways makes a runner write snapshots as soon as the events take more
// bytes than the state.
func SnapshotAlways(r *Runner) { r.minSnapshotGap = 0 }

// Runner returns the runner of a flow.
func (f *Flow) Runner() *Runner { return f.runner }

package runner

// SnapshotAlways makes a runner write snapshots as soon as the events take more
// bytes than the state.
func SnapshotAlways(r *Runner) { r.leastTail = 0 }

// How a run stands and how well it went.

package machine

// Status is how a run stands. The zero value means not started.
type Status string

// The statuses.
const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Stuck     Status = "stuck"
	Limit     Status = "limit"
	Paused    Status = "paused"
	Cancelled Status = "cancelled"
)

// Quality is how well a finished run went; it prints as null while unknown.
type Quality string

// The qualities.
const (
	Clean         Quality = "clean"
	Degraded      Quality = "degraded"
	FailedQuality Quality = "failed"
)

// MarshalJSON prints the quality, or null when it is not known yet.
func (q Quality) MarshalJSON() ([]byte, error) {
	if q == "" {
		return []byte("null"), nil
	}
	return []byte(`"` + string(q) + `"`), nil
}

// KeyValue is a state key and its value.
type KeyValue struct {
	Key   string
	Value any
}

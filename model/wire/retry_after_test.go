package wire

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		value, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"7", "", 7 * time.Second},
		{"0", "", 0},
		{"-3", "", 0},
		{"soon", "", 0},
		{"99999999999", "", 24 * time.Hour},
		{"999999999999999999999", "", 24 * time.Hour},
		{"Thu, 02 Jan 2025 03:04:35 GMT", "", 30 * time.Second},
		{"Thu, 02 Jan 2025 03:04:35 GMT", "Thu, 02 Jan 2025 03:04:25 GMT", 10 * time.Second},
		{"Thu, 02 Jan 2025 03:04:35 GMT", "nonsense", 30 * time.Second},
		{"Thu, 02 Jan 2020 03:04:35 GMT", "", 0},
	} {
		header := http.Header{"Retry-After": {test.value}, "Date": {test.date}}
		if got := RetryAfter(header, now); got != test.want {
			t.Errorf("%q, date %q: %v, want %v", test.value, test.date, got, test.want)
		}
	}
}

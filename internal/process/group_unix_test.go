//go:build unix

package process

import (
	"testing"
	"testing/fstest"
)

func TestGroupRuns(t *testing.T) {
	for _, test := range []struct {
		name string
		proc fstest.MapFS
		want bool
	}{
		{"live", fstest.MapFS{"7/stat": {Data: []byte("7 (a) b) 1) S 1 5 5")}}, true},
		{"dead", fstest.MapFS{"7/stat": {Data: []byte("7 (sh) Z 1 5 5")}}, false},
		{"other group", fstest.MapFS{"7/stat": {Data: []byte("7 (sh) S 1 6 6")}}, false},
		{"cut off", fstest.MapFS{"7/stat": {Data: []byte("7 (sh")}}, false},
		{"nothing listed", fstest.MapFS{"self": {}}, true},
	} {
		if got := groupRuns(test.proc, 5); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

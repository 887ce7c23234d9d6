package longtest

import "testing"

func TestChoose(t *testing.T) {
	for value, want := range map[string]int{"": 1, "short": 1, "long": 2} {
		t.Setenv("GRAPHRUN_TESTS", value)
		if got := Choose(1, 2); got != want {
			t.Errorf("GRAPHRUN_TESTS=%s chooses %d, want %d", value, got, want)
		}
	}
}

package runner

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"testing"
)

func TestAppendInt(t *testing.T) {
	check := func(n int) {
		t.Helper()
		if got, want := string(appendInt([]byte("x"), n)), "x"+strconv.Itoa(n); got != want {
			t.Errorf("appendInt(%d) = %q", n, got)
		}
	}
	for n := range 100_000 {
		check(n)
	}
	for power := 1; power < 1e18; power *= 10 {
		for d := -2; d <= 2; d++ {
			check(power + d)
			check(9*power + d)
			check(-power + d)
		}
	}
	for n := 0; n < tooLong; n += 9973 {
		check(n)
	}
}

func TestAppendDigits(t *testing.T) {
	for n := 0; n < 1_000_000; n += 7 {
		if got, want := string(appendDigits(nil, n, 6)), fmt.Sprintf("%06d", n); got != want {
			t.Fatalf("appendDigits(%d, 6) = %q", n, got)
		}
	}
	if got := string(appendDigits([]byte("20"), 7, 2)); got != "2007" {
		t.Errorf("got %q", got)
	}
}

func TestCounter(t *testing.T) {
	c := newCounter()
	check := func(n uint32) {
		t.Helper()
		word := c.word(n)
		if got, want := string(binary.LittleEndian.AppendUint64(nil, word)[:c.width()]), strconv.Itoa(int(n)); got != want || word>>(8*c.width()) != 0 {
			t.Errorf("word(%d) = %q, %x", n, got, word)
		}
	}
	for n := range uint32(12_000) {
		check(n)
	}
	for n := uint32(12_000); n > 0; n -= 3 {
		check(n)
	}
	for n := uint32(0); n < tooLong; n += 9973 {
		check(n)
	}
	check(tooLong - 1)
}

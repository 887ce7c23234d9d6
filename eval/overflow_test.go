package eval

import "testing"

// The product of these numbers is 2^64-1. Its low word is -1, but it is too large all the same.
func TestProductThatWraps(t *testing.T) {
	s := NewScope(map[string]Type{"a": Int(), "b": Int()}, ScopeOptions{})
	p, cerr := s.Compile("a * b", Value)
	if cerr != nil {
		t.Fatal(cerr)
	}
	for _, sign := range []int{1, -1} {
		var v VM
		got, err := v.Eval(p, map[string]any{"a": sign * 4294967295, "b": 4294967297})
		if err == nil {
			t.Errorf("the product is %v", got)
		}
	}
}

// A sum of zeros is not an overflow.
func TestSumOfZeros(t *testing.T) {
	if got := addNumbers(nil, 0, 0); got != 0 {
		t.Errorf("0 + 0 is %v", got)
	}
}

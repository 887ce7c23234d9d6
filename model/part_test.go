package model

import "testing"

func TestReadDataURI(t *testing.T) {
	for _, test := range []struct{ uri, kind, data, problem string }{
		{"data:image/png;base64,QUJD", "image/png", "QUJD", ""},
		{"DATA:image/png;charset=x;base64,QU JD\n", "image/png", "QUJD", ""},
		{"data:image/png;base64,QUI", "image/png", "QUI=", ""},
		{"data:application/pdf;base64,__-_", "application/pdf", "//+/", ""},
		{"data:,a%20b", "text/plain", "YSBi", ""},
		{"data:image/png;base64,Q@", "", "", "the data URI is not base64: illegal base64 data at input byte 1"},
		{"data:image/png", "", "", "the data URI has no comma before its data"},
		{"data:image/png;base64,", "", "", "the data URI is empty"},
		{"data:,%zz", "", "", `the data URI can't be read: invalid URL escape "%zz"`},
	} {
		part, is, err := ReadDataURI(test.uri)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if !is || part.Type != test.kind || part.Data != test.data || problem != test.problem {
			t.Errorf("%s: %+v, %v, %q", test.uri, part, is, problem)
		}
	}
	if _, is, _ := ReadDataURI("a/data:b"); is {
		t.Error("a path is a data URI")
	}
}

func TestPartSize(t *testing.T) {
	for data, want := range map[string]int{"": 0, "QQ==": 1, "QUI=": 2, "QUJD": 3, "QUJDQUI=": 5} {
		if got := (&Part{Kind: ImagePart, Data: data}).Size(); got != want {
			t.Errorf("%q: %d bytes, want %d", data, got, want)
		}
	}
}

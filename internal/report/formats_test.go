package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// sarifSchema returns the part of the standard's schema that reports use.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", "sarif-parts.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("sarif.json")
}

func TestSARIFKeepsToTheStandard(t *testing.T) {
	schema := sarifSchema(t)
	ds := example(t)
	ds[0].File.Name = "a folder/naïve.yaml"
	rules := []lint.Rule{{Name: "unused", Severity: spec.Warning, Summary: "not used", Doc: "Say why."}}
	for name, out := range map[string]string{
		"findings":  printed(t, "sarif", Options{Rules: rules, Version: "1.2.3"}, ds...),
		"none":      printed(t, "sarif", Options{}),
		"described": printed(t, "sarif", Options{Rules: rules}),
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	broken, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if schema.Validate(broken) == nil {
		t.Error("the schema accepts a tool without a name")
	}
}

// The library has the whole schema of the standard. That nothing is lost in its
// types shows that what it checks is what was printed.
func TestSARIFIsValidByTheWholeSchema(t *testing.T) {
	ds := example(t)
	rules := []lint.Rule{{Name: "unused", Severity: spec.Warning, Summary: "not used", Doc: "Say why."}}
	for name, out := range map[string]string{
		"findings": printed(t, "sarif", Options{Rules: rules, Version: "1.2.3"}, ds...),
		"none":     printed(t, "sarif", Options{}),
	} {
		log, err := sarif.FromString(out)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, run := range log.Runs {
			// What is left out the library writes empty, which is not legal here.
			run.Language, run.NewlineSequences = "en-US", []string{"\n"}
			run.Tool.Driver.Language = "en-US"
		}
		if err := log.Validate(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		again, err := json.Marshal(log)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := errors.Join(json.Unmarshal([]byte(out), &want), json.Unmarshal(again, &got)); err != nil {
			t.Fatal(err)
		}
		if lost := missing(want, got, ""); lost != "" {
			t.Errorf("%s: %s is no property of the standard, or is read otherwise", name, lost)
		}
	}
	broken, err := sarif.FromString(`{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}`)
	if err == nil && broken.Validate() == nil {
		t.Error("the schema accepts a tool without a name")
	}
}

// missing returns a path in want that got lacks, or "".
func missing(want, got any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		have, _ := got.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if lost := missing(want[key], have[key], at+"."+key); lost != "" {
				return lost
			}
		}
	case []any:
		have, _ := got.([]any)
		if len(have) != len(want) {
			return at
		}
		for i := range want {
			if lost := missing(want[i], have[i], fmt.Sprintf("%s[%d]", at, i)); lost != "" {
				return lost
			}
		}
	default:
		if want != got {
			return at
		}
	}
	return ""
}

func TestSARIFPointsAtTheFinding(t *testing.T) {
	ds := example(t)
	ds[0].File.Name = "a folder/naïve.yaml"
	log, err := sarif.FromString(printed(t, "sarif", Options{Rules: []lint.Rule{{Name: "unused"}}}, ds...))
	if err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if n := len(run.Results); n != 2 {
		t.Fatalf("%d results, want 2", n)
	}
	first := run.Results[0]
	at := first.Locations[0].PhysicalLocation
	if got, want := *at.ArtifactLocation.URI, "a%20folder/na%C3%AFve.yaml"; got != want {
		t.Errorf("uri %q, want %q", got, want)
	}
	got := [4]int{*at.Region.StartLine, *at.Region.StartColumn, *at.Region.EndLine, *at.Region.EndColumn}
	if want := [4]int{4, 12, 4, 13}; got != want {
		t.Errorf("region %v, want %v", got, want)
	}
	for _, r := range run.Results {
		if got := *run.Tool.Driver.Rules[r.RuleIndex].ID; got != *r.RuleID {
			t.Errorf("rule index of %s leads to %s", *r.RuleID, got)
		}
	}
	if len(first.RelatedLocations) != 1 || len(first.Fixes) != 1 || *first.Fixes[0].ArtifactChanges[0].Replacements[0].InsertedContent.Text != "a" {
		t.Errorf("related %v, fixes %v", first.RelatedLocations, first.Fixes)
	}
}

func TestFileURI(t *testing.T) {
	for name, want := range map[string]string{
		"flow.yaml": "flow.yaml", "./a/../flow.yaml": "flow.yaml", "/x y/f.yaml": "file:///x%20y/f.yaml",
		"<stdin>": "stdin", "a:b.yaml": "./a:b.yaml", "100%.yaml": "100%25.yaml",
	} {
		if got := makeURI(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestFingerprintIgnoresWhereTheLineIs(t *testing.T) {
	at := func(src string) string {
		file, span := parseMarked(t, src)
		return Fingerprint(&spec.Diagnostic{File: file, Span: span, Rule: "r", Message: "m"})
	}
	same := at("a: «b»\n")
	if got := at("# moved\n\n    a:   «b»\n"); got != same {
		t.Errorf("moving a line changes %s to %s", same, got)
	}
	if got := at("a: «c»\n"); got == same {
		t.Error("another line has the same fingerprint")
	}
}

func TestJUnit(t *testing.T) {
	ds := example(t)
	for _, c := range []struct {
		strict          bool
		tests, failures int
	}{{false, 3, 1}, {true, 3, 2}} {
		var b bytes.Buffer
		f := Findings{Files: 2, Names: []string{"flow.yaml", "good.yaml"}, Diagnostics: ds}
		if err := Write(&b, "junit", f, Options{Strict: c.strict}); err != nil {
			t.Fatal(err)
		}
		var got JUnit
		if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if got.Tests != c.tests || got.Failures != c.failures || len(got.Suites) != 2 {
			t.Errorf("strict %v: %d tests, %d failures, %d suites\n%s", c.strict, got.Tests, got.Failures, len(got.Suites), b.String())
		}
		if got.Suites[1].Cases[0].Failure != nil || got.Suites[0].Cases[0].Failure.Type != "unknown-node" {
			t.Errorf("wrong cases:\n%s", b.String())
		}
	}
}

// Findings as SARIF 2.1.0, which code hosts and editors read.

package report

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

const home = "https://github.com/graphrun/graphrun"

type object = map[string]any

func writeSARIF(w io.Writer, f Findings, opts Options) error {
	rules, results, index := []object{}, []object{}, map[string]int{}
	for _, r := range opts.Rules {
		index[r.Name] = len(rules)
		rules = append(rules, describeRule(r))
	}
	for _, d := range f.Diagnostics {
		if _, ok := index[d.Rule]; !ok {
			index[d.Rule] = len(rules)
			rules = append(rules, object{"id": d.Rule})
		}
		results = append(results, describeFinding(&d, index[d.Rule]))
	}
	driver := object{"name": "graphrun", "informationUri": home, "rules": rules}
	if opts.Version != "" {
		driver["version"] = opts.Version
	}
	return WriteIndented(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}},
	})
}

func describeRule(r lint.Rule) object {
	out := object{"id": r.Name, "helpUri": home + "/blob/main/docs/reference/rules.md#" + r.Name}
	if r.Severity != 0 {
		config := object{"level": levels[r.Severity]}
		if r.Off {
			config["enabled"] = false
		}
		out["defaultConfiguration"] = config
	}
	if r.Summary != "" {
		out["shortDescription"] = newMessage(r.Summary)
	}
	if r.Doc != "" {
		out["fullDescription"], out["help"] = newMessage(r.Doc), newMessage(r.Doc)
	}
	return out
}

func newMessage(text string) object { return object{"text": text} }

var levels = map[spec.Severity]string{spec.Error: "error", spec.Warning: "warning", spec.Info: "note"}

func describeFinding(d *spec.Diagnostic, rule int) object {
	at := newLocation(d.File, d.Span)
	out := object{
		"ruleId": d.Rule, "ruleIndex": rule, "level": levels[d.Severity], "message": newMessage(formatMessage(d)),
		"locations":           []object{{"physicalLocation": at}},
		"partialFingerprints": object{"graphrun/v1": Fingerprint(d)},
	}
	var related []object
	for i, r := range d.Related {
		related = append(related, object{"id": i + 1, "physicalLocation": newLocation(r.File, r.Span), "message": newMessage(r.Message)})
	}
	if related != nil {
		out["relatedLocations"] = related
	}
	if d.Suggestion != "" {
		replacement := object{"deletedRegion": at["region"], "insertedContent": newMessage(d.Suggestion)}
		out["fixes"] = []object{{
			"description":     newMessage("write " + strconv.Quote(d.Suggestion)),
			"artifactChanges": []object{{"artifactLocation": at["artifactLocation"], "replacements": []object{replacement}}},
		}}
	}
	return out
}

// newLocation describes a span. Lines and columns start at 1, and the end is exclusive.
func newLocation(f *spec.File, s spec.Span) object {
	from, to := f.Position(s.From), f.Position(s.To)
	return object{
		"artifactLocation": object{"uri": makeURI(f.Name)},
		"region":           object{"startLine": from.Line, "startColumn": from.Column, "endLine": to.Line, "endColumn": to.Column},
	}
}

// makeURI converts a path to a URI. Relative paths stay relative.
func makeURI(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if name == "<stdin>" {
		return "stdin"
	}
	u := url.URL{Path: path.Clean(name)}
	if strings.HasPrefix(name, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

// Fingerprint identifies a finding by its rule, message and line text, also if the line moves.
func Fingerprint(d *spec.Diagnostic) string {
	line := d.File.Line(d.File.Position(d.Span.From).Line)
	sum := sha256.Sum256([]byte(d.Rule + "\x00" + d.Message + "\x00" + strings.Join(strings.Fields(line), " ")))
	return hex.EncodeToString(sum[:12])
}

package explore

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// Why a digest may leave out a field.
const (
	derived  = "it follows from what is there"
	ofTime   = "time: a search for a proof lets it pass in any order"
	named    = "a name or a number that no expression reads"
	atEnd    = "only the end of the run reads it"
	fixed    = "it is the same in all runs of a search"
	spoken   = "conversations, models and notes: conditions on them are a gap"
	resumed  = "only a run that pauses or is resumed reads it"
	toLimit  = "it counts towards max_steps, which the search compares by itself"
	snapshot = "only snapshots have it"
	inner    = "explored plans have no inner graphs"
)

// leftOut says why a digest may leave out fields. A new field needs a place in the digest or a
// reason: a search that confuses states which continue differently would prove false
// claims.
var leftOut = map[reflect.Type]map[string]string{
	reflect.TypeFor[machine.State](): {
		"Run": fixed, "Group": named, "Goal": fixed, "Quality": atEnd, "Reason": atEnd, "Limited": atEnd, "Failure": atEnd, "Output": atEnd,
		"Began": ofTime, "Now": ofTime, "Active": ofTime, "Idle": ofTime, "PausedAt": resumed, "Pausing": resumed, "Parked": resumed, "Endings": resumed, "Grace": resumed,
		"Numbers": named, "Talk": spoken, "Models": spoken, "Spent": spoken, "Scripted": spoken, "Watched": fixed, "Explain": fixed, "StopAt": fixed, "Edit": fixed, "Done": toLimit,
	},
	reflect.TypeFor[machine.Scope](): {
		"ID": named, "Owner": inner, "Call": inner, "Graph": inner, "Outer": inner, "Path": inner, "Key": named, "Input": "conditions on run.input are a gap", "Extra": fixed,
		"Steps": derived, "Partial": "conditions on nodes are a gap", "Reasons": "conditions on nodes are a gap", "LastEnd": atEnd, "LastStep": atEnd,
		"Given": spoken, "Continues": spoken, "Fired": atEnd, "Executions": toLimit, "Refused": toLimit, "Count": toLimit,
		"Spent": spoken, "Since": ofTime, "Degraded": atEnd, "Culprit": resumed, "Finals": atEnd, "FinalVisits": resumed, "FinalView": derived,
	},
	reflect.TypeFor[machine.End](): {"Output": atEnd, "Limited": atEnd},
	reflect.TypeFor[machine.Task](): {
		"Final": derived, "Visit": derived, "Step": derived, "Number": toLimit, "At": ofTime, "Passed": resumed, "Stopped": resumed,
		"Cached": atEnd, "Notes": spoken, "Calls": spoken, "Thread": spoken,
	},
	reflect.TypeFor[machine.Source]():       {"Task": named},
	reflect.TypeFor[machine.Chosen]():       {"Failure": derived, "Reasoning": atEnd},
	reflect.TypeFor[machine.Fan]():          {"Began": ofTime},
	reflect.TypeFor[machine.Unit]():         {"Ends": ofTime, "Notes": spoken, "Calls": spoken, "Called": inner, "Talk": spoken, "Late": "only a run that was cancelled and resumes has one"},
	reflect.TypeFor[machine.UnitQuestion](): {"Default": fixed, "HasDefault": fixed, "Remind": ofTime, "Every": fixed, "Reminders": ofTime},
	reflect.TypeFor[machine.Each]():         {"Talk": spoken, "Size": derived},
	reflect.TypeFor[machine.View]():         {"Depth": derived, "Kept": snapshot, "Thread": spoken, "Size": "a run that ends because of it is a gap"},
}

func TestDigestKnowsEveryField(t *testing.T) {
	in := map[reflect.Type][]string{ // written by all and view
		reflect.TypeFor[machine.State]():  {"Status", "Scopes", "Stopping"},
		reflect.TypeFor[machine.View]():   {"ID", "Base", "Vals", "Heads", "Visits", "Count", "Mem", "Done"},
		reflect.TypeFor[machine.Visits](): {"Node", "Count", "Succeeded"},
	}
	for of, words := range digested {
		for _, word := range strings.Fields(words) {
			name, _, _ := strings.Cut(word, ":")
			in[of] = append(in[of], name)
		}
	}
	in[reflect.TypeFor[machine.Scope]()] = append(in[reflect.TypeFor[machine.Scope]()], "Views")
	in[reflect.TypeFor[machine.UnitQuestion]()] = append(in[reflect.TypeFor[machine.UnitQuestion]()], "Ask")
	for of, names := range in {
		for _, name := range names {
			if _, known := of.FieldByName(name); !known {
				t.Errorf("%s has no field %s", of, name)
			}
		}
		if of == reflect.TypeFor[machine.Failure]() {
			continue // conditions on the rest are a gap
		}
		for i := range of.NumField() {
			f := of.Field(i)
			if !f.IsExported() {
				continue
			}
			held := slices.Contains(names, f.Name)
			if _, out := leftOut[of][f.Name]; held == out {
				t.Errorf("%s.%s: put it into the digest, or say in leftOut why not", of, f.Name)
			}
			if held {
				checkListed(t, in, f.Type)
			}
		}
	}
}

// checkListed checks that the structs in a field's type are listed too.
func checkListed(t *testing.T, in map[reflect.Type][]string, of reflect.Type) {
	t.Helper()
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
		of = of.Elem()
	}
	whole := []reflect.Type{reflect.TypeFor[machine.Ask](), reflect.TypeFor[machine.Stopping]()}
	if _, listed := in[of]; of.Kind() == reflect.Struct && !listed && !slices.Contains(whole, of) {
		t.Errorf("%s is in the digest, but not listed", of)
	}
}

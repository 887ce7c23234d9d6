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

// digestFields lists the fields that a digest holds, and why it may leave out the others.
// A new field goes into the digest or gets a reason: a search that takes states for one
// that differ in what matters proves what is not so.
var digestFields = map[reflect.Type]struct {
	in  string
	out map[string]string
}{
	reflect.TypeFor[machine.State](): {
		`Status Scopes Stopping`,
		map[string]string{
			"Run": fixed, "Group": named, "Goal": fixed, "Quality": atEnd, "Reason": atEnd, "Limited": atEnd, "Failure": atEnd, "Output": atEnd,
			"Began": ofTime, "Now": ofTime, "Active": ofTime, "Idle": ofTime, "PausedAt": resumed, "Pausing": resumed, "Parked": resumed, "Endings": resumed, "Grace": resumed,
			"Numbers": named, "Talk": spoken, "Models": spoken, "Spent": spoken, "Scripted": spoken, "Watched": fixed, "Explain": fixed, "StopAt": fixed, "Edit": fixed, "Done": toLimit,
		},
	},
	reflect.TypeFor[machine.Scope](): {
		`Tasks Ended Gone Bends Fans Views Decided MaxRank Full End Final FinalNext`,
		map[string]string{
			"ID": named, "Owner": inner, "Call": inner, "Graph": inner, "Outer": inner, "Path": inner, "Key": named, "Input": "conditions on run.input are a gap", "Extra": fixed,
			"Steps": derived, "Partial": "conditions on nodes are a gap", "Reasons": "conditions on nodes are a gap", "LastEnd": atEnd, "LastStep": atEnd,
			"Given": spoken, "Continues": spoken, "Fired": atEnd, "Executions": toLimit, "Own": toLimit, "Refused": toLimit, "Count": toLimit,
			"Spent": spoken, "Since": ofTime, "Degraded": atEnd, "Culprit": resumed, "Finals": atEnd, "FinalVisits": resumed, "FinalView": derived, "Closed": atEnd,
		},
	},
	reflect.TypeFor[machine.End](): {`Status Reason Failure`, map[string]string{"Output": atEnd, "Limited": atEnd}},
	reflect.TypeFor[machine.Task](): {
		`ID Node View Rank Position From Input Met Inputs Branches Cause Lost Carried Waits Begun Done Preset Settled
		 Skipped Refused Before Each Units Late Output Failure Writes Choice Deciding`,
		map[string]string{
			"Final": derived, "Visit": derived, "Step": derived, "Number": toLimit, "At": ofTime, "Passed": resumed, "Stopped": resumed,
			"Cached": atEnd, "Notes": spoken, "Calls": spoken, "Thread": spoken,
		},
	},
	reflect.TypeFor[machine.Source]():    {`Node Rank Order Output Failed`, map[string]string{"Task": named}},
	reflect.TypeFor[machine.Conflict]():  {`Key Fan`, nil},
	reflect.TypeFor[machine.Chosen]():    {`Edge`, map[string]string{"Failure": derived, "Reasoning": atEnd}},
	reflect.TypeFor[machine.Lane]():      {`Fan Lane`, nil},
	reflect.TypeFor[machine.Desertion](): {`Fan Node`, nil},
	reflect.TypeFor[machine.Bend]():      {`Position Task Node Rank Reached`, nil},
	reflect.TypeFor[machine.Position]():  {`Order Place Joined Lanes Over`, nil},
	reflect.TypeFor[machine.Visits]():    {`Node Count Succeeded`, nil},
	reflect.TypeFor[machine.Fan](): {
		`Position ID Source Rank View Branch Implicit`, map[string]string{"Began": ofTime},
	},
	reflect.TypeFor[machine.Over]():   {`At Source`, nil},
	reflect.TypeFor[machine.Branch](): {`First Failed By`, nil},
	reflect.TypeFor[machine.Unit](): {
		`Element State Attempt Round Tried Until Questions Begun CutOff Cause Output Failure Writes`,
		map[string]string{"Ends": ofTime, "Notes": spoken, "Calls": spoken, "Scope": inner, "Kept": inner, "Called": inner, "Talk": spoken, "Late": "only a run that was cancelled and resumes has one"},
	},
	reflect.TypeFor[machine.Asked](): {`Ask Settled Answer`, map[string]string{"Default": fixed, "HasDefault": fixed, "Remind": ofTime, "Every": fixed, "Reminders": ofTime}},
	reflect.TypeFor[machine.Each]():  {`Items Results Next Done Failed First FirstAt FailedAt`, map[string]string{"Talk": spoken, "Size": derived}},
	reflect.TypeFor[machine.View](): {
		`ID Base Vals Heads Visits Count Mem Done`,
		map[string]string{"Depth": derived, "Whole": derived, "Changed": snapshot, "Thread": spoken, "Size": "a run that ends because of it is a gap"},
	},
	reflect.TypeFor[machine.Memory](): {`Output Outcome Failure History`, nil},
	reflect.TypeFor[machine.Done]():   {`Position Task Node Rank Hoist Skipped Refused Output Failure Writes`, nil},
	reflect.TypeFor[machine.Write]():  {`Key Update Absent Reset ID After`, nil},
}

func TestDigestKnowsEveryField(t *testing.T) {
	for of, fields := range digestFields {
		in := strings.Fields(fields.in)
		exported := 0
		for i := range of.NumField() {
			f := of.Field(i)
			if !f.IsExported() {
				continue
			}
			exported++
			held := slices.Contains(in, f.Name)
			if _, out := fields.out[f.Name]; held == out {
				t.Errorf("%s.%s: put it into the digest, or say in digestFields why not", of, f.Name)
			}
			if held {
				checkListed(t, f.Type)
			}
		}
		if listed := len(in) + len(fields.out); listed != exported {
			t.Errorf("%s has %d exported fields, %d are listed", of, exported, listed)
		}
	}
}

// checkListed checks that the structs in a field's type are listed too.
func checkListed(t *testing.T, of reflect.Type) {
	t.Helper()
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
		of = of.Elem()
	}
	whole := []reflect.Type{
		reflect.TypeFor[machine.Failure](), reflect.TypeFor[machine.Ask](), reflect.TypeFor[machine.Stopping](), // see failure, unit and appendTo
	}
	if _, listed := digestFields[of]; of.Kind() == reflect.Struct && !listed && !slices.Contains(whole, of) {
		t.Errorf("%s is in the digest, but not in digestFields", of)
	}
}

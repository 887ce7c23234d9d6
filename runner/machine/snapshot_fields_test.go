package machine

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// snapshotFields are the fields of the state and of what it is made of: those
// that a snapshot holds, and after the bar those that it need not hold, because
// they are derived, are set before every use, or belong to whoever watches. A
// new field goes before the bar together with code in snapshot_save.go and
// snapshot_restore.go, or after it with a reason to be there.
func snapshotFields() map[reflect.Type]string {
	return map[reflect.Type]string{
		// live follows Status; size and sizes are counted anew; lists is room to grow; secrets are given anew.
		reflect.TypeFor[State](): `RunID Group Status Quality Reason Limited Failure PausedAt Output Superstep Steps ChildSteps
			limits goal breakBefore breakAfter pauseDue edits parent began now deadline pausedFrom undriven degraded closing open
			env visits hist byNode extra memory tasks next parked readyTasks runningTasks waitingTasks nextReady mixed
			fanouts laned barriers deciding refused grants outOfSteps noStep rounds violated final endings lastEnd lastOutput order logs
			conversation lastThread endThread models usage scripted
			| Ran Effect plan live secrets entering reach size sizes lists Watched Warns Explain Looked objects buffers vm`,
		// routes are held while a router is being asked.
		reflect.TypeFor[buffers](): `routes | cmds notes undo taken tested changes confided due reduceEnv told`,
		reflect.TypeFor[task](): `node at memory visit attempt step status skipped cached waitsFor joined merged cause led due
			released held lost uncaught input source inputs began order output failure writes choice each branches until ends asked
			expired firstRoute lastRoute thread calls tried`,
		reflect.TypeFor[triedBy]():     `element block`,
		reflect.TypeFor[sourceInput](): `node value`,
		reflect.TypeFor[write]():       `key update lost | size`,
		reflect.TypeFor[choice]():      `edge failure reasoning`,
		reflect.TypeFor[finale]():      `how lost outOfSteps next ran hurried over`,
		reflect.TypeFor[ending]():      `status reason failure`,
		reflect.TypeFor[place]():       `fan lane`,
		// names are made of first.
		reflect.TypeFor[fanout](): `id origin at depth policy live ended dead failures auto first began again thread
			| names`,
		reflect.TypeFor[lostBranch](): `failure lane order told`,
		reflect.TypeFor[grants]():     `Granted Asked Denied Above`,
		reflect.TypeFor[barrier]():    `node fan arrivals detours`,
		reflect.TypeFor[detour]():     `node places passed`,
		reflect.TypeFor[arrival]():    `at source input output thread over`,
		reflect.TypeFor[expiry]():     `branch failure order settled`,
		reflect.TypeFor[route]():      `task edge to input own`,
		reflect.TypeFor[eachState](): `items results next again running attempts asking answered failed failure lowest lowestIndex tolerate
			talk cut | size`,
		reflect.TypeFor[eachCut]():       `next again attempts asking running failed`,
		reflect.TypeFor[elementRun]():    `attempt cause asked ends`,
		reflect.TypeFor[failedAttempt](): `attempt until`,
		// schema is compiled from document.
		reflect.TypeFor[question](): `Ask fallback hasDefault settled answer failure | schema`,
		// the attempt of an element's stands with its running or asking.
		reflect.TypeFor[questions](): `questions any at steps waiting woken until ends | attempt`,
		reflect.TypeFor[memory]():    `nodes edges partial reason succeeded`,
		reflect.TypeFor[nodeState](): `visits`,
	}
}

func TestSnapshotKnowsEveryField(t *testing.T) {
	known := snapshotFields()
	for of, text := range known {
		listed := slices.DeleteFunc(strings.Fields(text), func(name string) bool { return name == "|" })
		fields := make([]string, of.NumField())
		for i := range fields {
			fields[i] = of.Field(i).Name
			if !slices.Contains(listed, fields[i]) {
				t.Errorf("%s.%s: is it in snapshots? see snapshotFields", of, fields[i])
			}
			held, _, _ := strings.Cut(text, "|")
			if slices.Contains(strings.Fields(held), fields[i]) {
				checkKnown(t, known, of.Field(i).Type)
			}
		}
		for _, name := range listed {
			if !slices.Contains(fields, name) {
				t.Errorf("%s has no field %s any more", of, name)
			}
		}
	}
}

// checkKnown finds structs of this package that a field leads to and that
// nobody has thought about. Those with exported fields are written whole.
func checkKnown(t *testing.T, known map[reflect.Type]string, of reflect.Type) {
	t.Helper()
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		checkKnown(t, known, of.Elem())
	case reflect.Struct:
		if _, ok := known[of]; !ok && !of.Field(0).IsExported() {
			t.Errorf("%s is part of the state: see snapshotFields", of)
		}
	}
}

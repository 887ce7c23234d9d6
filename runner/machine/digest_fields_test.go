package machine

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Why fields need not be in a digest.
const (
	byOthers = "it follows from what is there"
	ofTime   = "a digest leaves out time: whoever merges states lets it pass in any order"
	named    = "a name or a number that nothing asks for"
	atEnd    = "it is of the run's end, or only shown there"
	fixed    = "it is the same in all runs of a plan that are compared"
	within   = "it is of one Apply, or room for the next"
	spoken   = "conversations, models and notes: what asks for them is known at run time only, and no state is merged for a proof then"
	resumed  = "only a run that is paused, resumed or taken up needs it"
	ofSteps  = "it counts towards a limit: whoever merges states compares it by itself"
	lastly   = "it is part of outputs and inputs, which Past adds where something reads them"
)

// digestFields are the fields that a digest holds, and why it need not hold the others.
// A new field is part of AppendDigest, or has a reason to be left out: a search that
// merges states which differ in what matters proves what is not so.
func digestFields() map[reflect.Type]struct {
	in  string
	out map[string]string
} {
	type entry = struct {
		in  string
		out map[string]string
	}
	return map[reflect.Type]entry{
		reflect.TypeFor[State](): {
			`Status open deciding final closing violated pauseDue noStep outOfSteps refused env visits hist byNode memory Steps lastOutput tasks next parked barriers`,
			map[string]string{
				"RunID": named, "Group": named, "Quality": atEnd, "Reason": atEnd, "Limited": atEnd, "Failure": atEnd, "Output": atEnd, "degraded": atEnd, "lastEnd": atEnd,
				"PausedAt": resumed, "breakBefore": resumed, "breakAfter": resumed, "edits": resumed, "pausedFrom": resumed, "undriven": resumed, "endings": resumed,
				"Superstep": named, "ChildSteps": ofSteps, "grants": "of a subgraph, which is explored by itself", "parent": fixed,
				"Ran": within, "Effect": within, "entering": within, "objects": within, "buffers": within, "vm": within, "lists": within,
				"plan": fixed, "limits": fixed, "goal": fixed, "secrets": fixed, "models": fixed, "Watched": fixed, "Warns": fixed, "Explain": fixed, "Looked": within,
				"live": byOthers, "readyTasks": byOthers, "runningTasks": byOthers, "waitingTasks": byOthers, "nextReady": byOthers, "mixed": byOthers, "reach": byOthers,
				"began": ofTime, "now": ofTime, "deadline": ofTime, "laned": ofTime,
				"extra": "keys that no condition names", "fanouts": named, "order": "finished tells what of it matters", "rounds": "no search is as long as maxBarren",
				"logs": spoken, "conversation": spoken, "lastThread": spoken, "endThread": spoken, "usage": spoken, "scripted": spoken,
				"size": "a run that ends because of it is not taken for one that was tried", "sizes": "see size",
			},
		},
		reflect.TypeFor[task](): {
			`node at attempt visit status skipped joined merged cause led due held uncaught input inputs order output failure writes choice each branches asked expired tried`,
			map[string]string{
				"memory": byOthers, "step": ofSteps, "cached": atEnd, "waitsFor": byOthers, "released": resumed, "lost": resumed, "source": "the name under which inputs has input",
				"began": ofTime, "until": ofTime, "ends": ofTime, "calls": spoken, "thread": spoken, "firstRoute": byOthers, "lastRoute": byOthers,
			},
		},
		reflect.TypeFor[triedBy]():     {`element block`, nil},
		reflect.TypeFor[sourceInput](): {`node value`, nil},
		reflect.TypeFor[write]():       {`key update`, map[string]string{"lost": byOthers, "size": byOthers}},
		reflect.TypeFor[choice]():      {`edge`, map[string]string{"failure": "edge says that it failed", "reasoning": atEnd}},
		reflect.TypeFor[finale]():      {`how next hurried over`, map[string]string{"lost": resumed, "outOfSteps": resumed, "ran": byOthers}},
		reflect.TypeFor[ending]():      {`status reason failure`, nil},
		reflect.TypeFor[place]():       {`fan lane`, nil},
		reflect.TypeFor[fanout](): {
			`id origin at ended dead failures auto first`,
			map[string]string{"depth": byOthers, "policy": byOthers, "live": byOthers, "names": named, "thread": spoken, "began": ofTime, "again": ofTime},
		},
		reflect.TypeFor[lostBranch](): {`failure lane order told`, nil},
		reflect.TypeFor[barrier]():    {`node fan arrivals detours`, nil},
		reflect.TypeFor[detour]():     {`node places passed`, nil},
		reflect.TypeFor[arrival]():    {`at source input output over`, map[string]string{"thread": spoken}},
		reflect.TypeFor[expiry]():     {`branch settled order`, map[string]string{"failure": "it is a timeout always"}},
		reflect.TypeFor[eachState](): {
			`items results next again running attempts asking failed failure lowest`,
			map[string]string{"answered": resumed, "size": byOthers, "lowestIndex": byOthers, "tolerate": fixed, "cut": resumed, "talk": spoken},
		},
		reflect.TypeFor[elementRun]():    {`attempt cause`, map[string]string{"asked": resumed, "ends": ofTime}},
		reflect.TypeFor[failedAttempt](): {`attempt`, map[string]string{"until": ofTime}},
		reflect.TypeFor[question](): {
			`Ask settled answer failure`,
			map[string]string{"fallback": fixed, "hasDefault": fixed, "schema": fixed},
		},
		reflect.TypeFor[questions](): {
			`questions`,
			map[string]string{"attempt": byOthers, "any": "of a subgraph", "at": "of a subgraph", "steps": "of a subgraph", "waiting": "of a subgraph", "woken": "of a subgraph", "until": ofTime, "ends": ofTime},
		},
		reflect.TypeFor[memory](): {
			`nodes succeeded`,
			map[string]string{"edges": atEnd, "partial": lastly, "reason": atEnd},
		},
		reflect.TypeFor[nodeState](): {`visits`, nil},
	}
}

func TestDigestKnowsEveryField(t *testing.T) {
	known := digestFields()
	types := map[reflect.Type]string{}
	for of, fields := range known {
		types[of] = fields.in
	}
	for of, fields := range known {
		in := strings.Fields(fields.in)
		for i := range of.NumField() {
			name := of.Field(i).Name
			held := slices.Contains(in, name)
			if _, out := fields.out[name]; held == out {
				t.Errorf("%s.%s: is it in digests, or why not? see digestFields", of, name)
			}
			if held {
				checkKnown(t, types, of.Field(i).Type)
			}
		}
		if n := len(in) + len(fields.out); n != of.NumField() {
			t.Errorf("%s has %d fields, %d are listed", of, of.NumField(), n)
		}
	}
}

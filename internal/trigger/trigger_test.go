package trigger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// parse reads a list of triggers, indented below its key.
func parse(text string) *List {
	src := []byte(strings.ReplaceAll("triggers:\n"+text, "\n", "\n  "))
	root, found := spec.Read("graphrun.yaml", src, "", []spec.Key{ListKey})
	l := &List{Problems: found}
	l.Read(spec.NewFile("graphrun.yaml", src), root.Get("triggers"))
	return l
}

func read(t *testing.T, text string) []*Trigger {
	t.Helper()
	l := parse(text)
	if len(l.Problems) > 0 {
		t.Fatal(l.Problems)
	}
	return l.Triggers
}

// TestProblems checks the message and position of each mistake.
func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"a: b":                             `2:3: "triggers" must be a list of maps; found a map`,
		"- x":                              "must be a map; found the text",
		"- {flow: f.yaml}":                 "lacks one of the keys cron or webhook",
		"- {cron: '* * * * *'}":            `lacks the key "flow"`,
		"- {flow: f, cron: '61 * * * *'}":  `2:21: cron "61 * * * *" is not an expression`,
		"- {flow: f, cron: '* * * * * *'}": "is not an expression",
		"- {flow: f, cron: '@daily', timezone: Mars/One}":                                        `timezone "Mars/One" is not known`,
		"- {flow: f, cron: '@daily', catch_up: some}":                                            "all, none or one; found",
		"- {flow: f, cron: '@daily', secret: x}":                                                 `"secret" does not go with cron`,
		"- {flow: f, cron: '@daily', input: [1]}":                                                "must be a map",
		"- {flow: f, cron: '@daily', nope: 1}":                                                   `unknown key "nope"`,
		"- {flow: f, webhook: x, secret: {env: A}}":                                              "must be a path",
		"- {flow: f, webhook: /x}":                                                               `"secret" is needed`,
		"- {flow: f, webhook: /x, secret: {env: A}, input: 'bdy.x'}":                             "bdy",
		"- {flow: f, webhook: /x, secret: {env: A}, cron: '@daily'}":                             `"webhook" and "cron" exclude each other`,
		"- {flow: f, webhook: /x, secret: {env: A}}\n- {flow: g, webhook: /x, secret: {env: A}}": "3:5: an earlier trigger has the webhook \"/x\"",
	} {
		got := (&spec.InvalidError{Findings: parse(text).Problems}).Error()
		if !strings.Contains(got, want) {
			t.Errorf("%s\ngives %s\nwant  %s", text, got, want)
		}
	}
}

// TestNext checks times around the days on which the clocks of Berlin change.
func TestNext(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		expr, from string
		want       string
	}{
		{"30 2 * * *", "2026-03-28T00:00:00+01:00", "03-28 02:30+01 03-29 03:30+02 03-30 02:30+02"}, // skipped on the 29th
		{"30 2 * * *", "2026-10-24T00:00:00+02:00", "10-24 02:30+02 10-25 02:30+02 10-26 02:30+01"}, // twice on the 25th
		{"30 2 * * *", "2026-10-25T00:30:00Z", "10-26 02:30+01 10-27 02:30+01 10-28 02:30+01"},      // after the first of the two
		{"0 * * * *", "2026-03-29T00:30:00+01:00", "03-29 01:00+01 03-29 03:00+02 03-29 04:00+02"},
		{"0 * * * *", "2026-10-25T01:30:00+02:00", "10-25 02:00+02 10-25 02:00+01 10-25 03:00+01"},
		{"*/30 * * * *", "2026-10-25T02:15:00+02:00", "10-25 02:30+02 10-25 02:00+01 10-25 02:30+01"},
		{"0 9 * * 1-5", "2026-03-27T12:00:00+01:00", "03-30 09:00+02 03-31 09:00+02 04-01 09:00+02"},
		{"@daily", "2026-03-28T12:00:00+01:00", "03-29 00:00+01 03-30 00:00+02 03-31 00:00+02"},
	} {
		s, err := NewSchedule(c.expr, berlin)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 3 {
			at = s.Next(at)
			got = append(got, at.In(berlin).Format("01-02 15:04-07"))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s after %s: %s, want %s", c.expr, c.from, text, c.want)
		}
	}
}

// TestNextGoesOn checks that times always advance, in every zone and on every day.
func TestNextGoesOn(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip(err)
		}
		for _, expr := range []string{"*/20 * * * *", "15 1-3 * * *", "0 2 * * *"} {
			s, err := NewSchedule(expr, zone)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for at.Year() == 2026 {
				if m := at.Month(); m != time.March && m != time.April && m != time.October && m != time.November {
					at = time.Date(2026, m+1, 1, 0, 0, 0, 0, time.UTC) // clocks change in other months
					continue
				}
				next := s.Next(at)
				if !next.After(at) || next.Sub(at) > 26*time.Hour {
					t.Fatalf("%s in %s: after %s comes %s", expr, name, at, next)
				}
				at = next
			}
		}
	}
}

// clock is a clock that a test sets.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	wakes []wake
}

type wake struct {
	at time.Time
	f  func()
}

// Now returns the time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc calls f when the clock has advanced by d.
func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wakes = append(c.wakes, wake{c.now.Add(d), f})
	return func() bool { return true }
}

// step waits for a timer and moves the clock to it.
func (c *clock) step() {
	for {
		c.mu.Lock()
		if len(c.wakes) > 0 {
			next := c.wakes[0]
			c.wakes = c.wakes[1:]
			c.now = next.at
			c.mu.Unlock()
			next.f()
			return
		}
		c.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// started records the runs that triggers start.
type started struct {
	mu   sync.Mutex
	runs []runner.Options
	seen map[string]bool
}

func (s *started) start(_ string, opts runner.Options) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[opts.RunID] {
		return store.ErrRunExists
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[opts.RunID] = true
	s.runs = append(s.runs, opts)
	return nil
}

func (s *started) times() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, o := range s.runs {
		out = append(out, o.Labels[forLabel][11:16])
	}
	return strings.Join(out, " ")
}

// TestSchedule checks that runs start at their times, and that the trigger catches up on missed
// ones as configured.
func TestSchedule(t *testing.T) {
	for catchUp, want := range map[string]string{"none": "12:00 13:00", "one": "11:00 12:00 13:00", "all": "09:00 10:00 11:00 12:00 13:00"} {
		list := read(t, "- {flow: f.yaml, cron: '0 * * * *', timezone: UTC, catch_up: "+catchUp+", input: {n: 1}}")
		kept := &store.Memory{}
		record := store.RunRecord{ID: "before", Started: time.Now(), Labels: map[string]string{byLabel: list[0].Name(), forLabel: "2026-06-01T08:00:00Z"}}
		if _, err := kept.Create(record, machine.Event{Kind: machine.RunBegan}); err != nil {
			t.Fatal(err)
		}
		c, s := &clock{now: time.Date(2026, 6, 1, 11, 30, 0, 0, time.UTC)}, &started{}
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() {
			New(Config{Triggers: list, Start: s.start, Store: kept, Clock: c, Log: func(line string) { t.Error(line) }}).Run(ctx)
			close(over)
		}()
		for c.Now().Before(time.Date(2026, 6, 1, 13, 1, 0, 0, time.UTC)) {
			c.step()
		}
		cancel()
		<-over
		if got := s.times(); got != want {
			t.Errorf("%s: %s, want %s", catchUp, got, want)
		}
	}
}

// TestWebhook checks that a signed delivery starts a run, once.
func TestWebhook(t *testing.T) {
	t.Setenv("HOOK_SECRET", "a secret of senders")
	list := read(t, `- {flow: f.yaml, webhook: /push, secret: {env: HOOK_SECRET}, input: "{'repo': body.repo, 'kind': headers['x-kind']}", dedupe: body.id}`)
	s := &started{}
	h := New(Config{Triggers: list, Start: s.start, Store: &store.Memory{}, Clock: &clock{}, Log: func(line string) { t.Log(line) }})
	send := func(path, body, secret string, bearer bool) int {
		r := httptest.NewRequest("POST", Prefix+path, strings.NewReader(body))
		r.Header.Set("X-Kind", "push")
		if bearer {
			r.Header.Set("Authorization", "Bearer "+secret)
		} else {
			sum := hmac.New(sha256.New, []byte(secret))
			sum.Write([]byte(body))
			r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sum.Sum(nil)))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	const secret = "a secret of senders"
	for i, c := range []struct {
		path, body, secret string
		bearer             bool
		want               int
	}{
		{"/push", `{"id": 1, "repo": "a"}`, secret, false, 202},
		{"/push", `{"id": 1, "repo": "a"}`, secret, true, 200}, // delivered twice
		{"/push", `{"id": 2, "repo": "b"}`, secret, true, 202},
		{"/push", `{"id": 3}`, "wrong", false, 401},
		{"/push", `{"id": 3}`, "", true, 401},
		{"/push", `{"id": 3}`, "", false, 401},
		{"/other", `{}`, secret, false, 404},
		{"", `{}`, secret, false, 404},
		{"/push", `[]`, secret, false, 400},
		{"/push", strings.Repeat("x", maxBody+1), secret, true, 413},
	} {
		if got := send(c.path, c.body, c.secret, c.bearer); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
	if len(s.runs) != 2 || fmt.Sprint(s.runs[0].Input) != "map[kind:push repo:a]" {
		t.Errorf("started: %+v", s.runs)
	}
}

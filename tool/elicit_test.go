package tool

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newImpatientRegistry returns a registry that treats every server at once as one of the older
// protocol.
func newImpatientRegistry(t *testing.T, decls map[string]any, dir string) *Registry {
	t.Helper()
	r, err := New(decls, Options{Dir: dir, DiscoverTime: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// A person gets the question of a server in either protocol: from its result, or from a separate
// request.
func TestQuestionsOfServers(t *testing.T) {
	for _, mode := range []string{"polite", "old"} {
		r := newImpatientRegistry(t, fakeServer(t, mode, nil), "")
		actor := &fakeActor{}
		if got, problem := callServer(t, r, actor, "ask", nil); problem != `tool "srv.ask" waits for an answer of a person` {
			t.Errorf("%s: %v, %s", mode, got, problem)
		}
		if want := []string{"srv.ask: Who are you? [name]"}; cmp.Diff(want, actor.asked) != "" {
			t.Errorf("%s: asked %v", mode, actor.asked)
		}
		for _, test := range []struct {
			answer any
			want   string
		}{
			{map[string]any{"name": "Ada"}, "accept Ada"},
			{Declined, "decline <nil>"},
		} {
			actor.answer = test.answer
			if got, problem := callServer(t, r, actor, "ask", nil); got != test.want {
				t.Errorf("%s: %v, %s", mode, got, problem)
			}
		}
	}
}

// A server of an older protocol does not say during which call it asks. The question is not
// assigned to another running call.
func TestQuestionOfOlderServer(t *testing.T) {
	reports := newReports(t)
	r := newImpatientRegistry(t, fakeServer(t, "old", reports), "")
	ctx, cancel := context.WithCancel(t.Context())
	busy, asker := &fakeActor{}, &fakeActor{}
	ended := make(chan error, 1)
	go func() {
		_, err := r.Call(ctx, busy, []string{"srv.*"}, Call{Name: "srv.slow"})
		ended <- err
	}()
	if got := <-reports.lines; got != "slow" {
		t.Fatal(got)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := r.Call(t.Context(), asker, []string{"srv.*"}, Call{Name: "srv.ask"})
		asked <- err
	}()
	waits := func() bool {
		l := r.decls["srv"].server.link
		l.questions.mu.Lock()
		defer l.questions.mu.Unlock()
		for l.questions.open == 0 {
			l.questions.changed.Wait()
		}
		return len(l.questions.calls) == 2
	}
	if !waits() {
		t.Error("the question does not wait for the call beside it")
	}
	cancel()
	<-ended
	if err := <-asked; err == nil || !strings.Contains(err.Error(), "waits for an answer") {
		t.Errorf("got %v", err)
	}
	if len(busy.asked) != 0 || len(asker.asked) != 1 {
		t.Errorf("asked %v and %v", busy.asked, asker.asked)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	r := newRegistry(t, fakeServer(t, "polite", nil))
	resource := func(uri string) ([]any, error) {
		return r.FetchParts(t.Context(), (&fakeActor{}).Warn, "resource", "srv", uri, nil)
	}
	image := map[string]any{"image": "data:image/png;base64,QUJD"}
	for _, test := range []struct {
		uri     string
		want    []any
		problem string
	}{
		{"test://notes", []any{map[string]any{"text": "be brief"}}, ""},
		{"test://both", []any{image, map[string]any{"file": "data:application/pdf;base64,QUJD", "name": "b.pdf"}}, ""},
		{"test://none", nil, `server "srv": the resource "test://none"`},
		{"test://other", nil, `server "srv": the resource "test://other" can't be had`},
	} {
		got, err := resource(test.uri)
		if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.problem == "") || err != nil && !strings.HasPrefix(err.Error(), test.problem) {
			t.Errorf("%s: %v %s", test.uri, err, diff)
		}
	}
	texts, err := r.ListOffers(t.Context(), (&fakeActor{}).Warn, "srv")
	if diff := cmp.Diff([]Offer{
		{"resource", "srv:test://both", "both"}, {"resource", "srv:test://none", "none"}, {"resource", "srv:test://notes", "notes"}, {"prompt", "srv:review", ""},
	}, texts); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	got, err := r.FetchParts(t.Context(), (&fakeActor{}).Warn, "prompt", "srv", "review", map[string]string{"what": "it"})
	want := []any{
		map[string]any{"text": "Review it"},
		map[string]any{"text": "[assistant]"},
		map[string]any{"text": "I will."},
		map[string]any{"text": "[user]"},
		image,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := r.FetchParts(t.Context(), (&fakeActor{}).Warn, "resource", "other", "x", nil); err == nil || err.Error() != `there is no server "other" for the resource "x"; servers are srv` {
		t.Errorf("got %v", err)
	}
}

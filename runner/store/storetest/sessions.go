// Sessions: state that a run passes to the next one.

package storetest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/store"
)

func saveSession(t *testing.T, s store.Store, session store.Session) {
	t.Helper()
	if err := s.SaveSession(session); err != nil {
		t.Fatal(err)
	}
}

func wantSession(t *testing.T, s store.Store, want store.Session) {
	t.Helper()
	got, err := s.Session(want.ID)
	if err != nil || !got.Updated.Equal(want.Updated) {
		t.Errorf("session %s is of %s, want %s (%v)", want.ID, got.Updated, want.Updated, err)
	}
	if got.Updated = want.Updated; !reflect.DeepEqual(got, want) {
		t.Errorf("the session is\n%+v\nwant\n%+v", got, want)
	}
}

// testSessions saves the state of runs of two graphs in one session.
func testSessions(t *testing.T, s store.Store) {
	if _, err := s.Session("chat"); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("a session that is not there gives %v", err)
	}
	talk := []handler.Message{
		{Role: "user", Content: "hi <é>", Node: "a"},
		{Role: "assistant", ToolCalls: []handler.ToolCall{{ID: "1", Name: "f", Args: map[string]any{"n": 1<<60 + 1}}}},
	}
	saveSession(t, s, store.Session{
		ID: "chat", Run: "one", Graph: "g", Updated: startTime(0), Talk: talk, Secret: []string{"b", "c"},
		Keys: map[string]any{"a": 1, "b": "secret", "c": []any{nil, 0.5, "é"}},
	})
	saveSession(t, s, store.Session{ID: "other", Updated: startTime(1)})
	saveSession(t, s, store.Session{
		ID: "chat", Run: "two", Graph: "h", Updated: startTime(2), Secret: []string{"d"}, Keys: map[string]any{"b": 1<<60 + 1, "d": ""},
	})
	wantSession(t, s, store.Session{
		ID: "chat", Run: "two", Graph: "h", Updated: startTime(2), Talk: talk, Secret: []string{"c", "d"},
		Keys: map[string]any{"a": 1, "b": 1<<60 + 1, "c": []any{nil, 0.5, "é"}, "d": ""},
	})
	list, err := s.Sessions()
	if err != nil || len(list) != 2 || list[0].ID != "chat" || list[1].ID != "other" {
		t.Errorf("the sessions are %+v (%v)", list, err)
	}
	if err := s.DeleteSession("chat"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSession("chat"); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("deleting a session that is not there gives %v", err)
	}
	if list, err := s.Sessions(); err != nil || len(list) != 1 {
		t.Errorf("left are %+v (%v)", list, err)
	}
}

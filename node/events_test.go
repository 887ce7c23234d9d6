package node

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
)

func TestEventsWhileRunning(t *testing.T) {
	addr, accept := listen(t)
	task := helperTask("say", addr)
	heard := make(chan runner.Said, 10)
	task.Emit = func(s runner.Said) { heard <- s }
	done := startExec(t.Context(), testOptions(), task)
	conn := accept()
	if first := <-heard; first.Percent != 10 {
		t.Errorf("heard %+v", first)
	}
	if _, err := io.WriteString(conn, "."); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil {
		t.Fatal(r.err)
	}
	if second := <-heard; second.Percent != 90 {
		t.Errorf("heard %+v", second)
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", maxEventLine)
	task := newShellTask(`say() { printf '%s' "$1" >> "$GRAPHRUN_TASK_EVENTS"; }
		cat > "$GRAPHRUN_TASK_EVENTS"; echo ok`, map[string]any{"stdin": strings.Join([]string{
		`{"event":"progress","percent":40,"message":"almost"}`,
		`{"event":"progress","message":"same"}`,
		``,
		`{"event":"text","text":"hi\n"}` + "\r",
		`{"event":"custom","type":"found","data":{"n":1.0}}`,
		`{"event":"custom","type":"bare"}`,
		`not json`,
		long + "y",
		`{"event":"interrupt","key":"a=b"}`,
		`[1]`,
		`{"event":"progress","percent":"1"}`,
		`{"event":"progress","percent":101}`,
		`{"event":"text"}`,
		`{"event":"text","text":1}`,
		`{"event":"custom"}`,
		`{"event":"custom","type":""}`,
		`{"event":"dance"}`,
		`{}`,
		`{"event":"text","text":"no line break"}`,
	}, "\n")})
	rec := &recorder{}
	task.Emit = rec.emit
	if got, err := runExec(t, task); got != "ok" || err != nil {
		t.Fatalf("got %v, %v", got, err)
	}
	warning := func(number, what string) runner.Said {
		return runner.Said{Type: "warning", Message: "line " + number + " of the task's events is skipped: " + what}
	}
	want := []runner.Said{
		{Type: "progress", Percent: 40, Message: "almost"},
		{Type: "progress", Percent: 40, Message: "same"},
		{Type: "text", Text: "hi\n"},
		{Type: "custom", Name: "found", Data: map[string]any{"n": 1}},
		{Type: "custom", Name: "bare"},
		warning("7", `it is not JSON: line 1, column 2: invalid character 'o' in literal null (expecting 'u'): "not json"`),
		warning("8", `it is longer than 65536 bytes: "`+long[:80]+`…"`),
		warning("9", `"key" is "a=b"; a name without "=" is wanted: "{\"event\":\"interrupt\",\"key\":\"a=b\"}"`),
		warning("10", `it is a list; a JSON object is wanted: "[1]"`),
		warning("11", `"percent" is "1"; a number from 0 to 100 is wanted: "{\"event\":\"progress\",\"percent\":\"1\"}"`),
		warning("12", `"percent" is 101; a number from 0 to 100 is wanted: "{\"event\":\"progress\",\"percent\":101}"`),
		warning("13", `"text" is null; a text is wanted: "{\"event\":\"text\"}"`),
		warning("14", `"text" is a number; a text is wanted: "{\"event\":\"text\",\"text\":1}"`),
		warning("15", `"type" is null; a text is wanted: "{\"event\":\"custom\"}"`),
		warning("16", `"type" is empty: "{\"event\":\"custom\",\"type\":\"\"}"`),
		warning("17", `unknown event "dance" (custom, interrupt, progress, text): "{\"event\":\"dance\"}"`),
		warning("18", `it has no "event" (custom, interrupt, progress, text): "{}"`),
		{Type: "text", Text: "no line break"},
	}
	if diff := cmp.Diff(want, rec.said); diff != "" {
		t.Error(diff)
	}
}

func TestEventFileIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	got, err := runExec(t, newShellTask(`ls -d "$TMPDIR"/*; stat -c %a "$(dirname "$GRAPHRUN_TASK_EVENTS")"; exit`, map[string]any{"parse": "lines"}))
	if err != nil {
		t.Fatal(err)
	}
	if lines, _ := got.([]any); len(lines) != 2 || lines[1] != "700" {
		t.Errorf("the folder of the events while running: %v", got)
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEventsWithoutFile(t *testing.T) {
	t.Setenv("TMPDIR", os.Args[0]+"/nope") // a path below a file, which can't exist
	rec := &recorder{}
	task := newShellTask(`echo '{"event":"text","text":"x"}' >> "$GRAPHRUN_TASK_EVENTS" && echo ok`, nil)
	task.Emit = rec.emit
	if got, err := runExec(t, task); got != "ok" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if len(rec.said) != 1 || rec.said[0].Type != "warning" || !strings.Contains(rec.said[0].Message, "graphrun ignores events of this task") {
		t.Errorf("said %+v", rec.said)
	}
}

func TestBadEventsAreSummedUp(t *testing.T) {
	rec := &recorder{}
	task := newShellTask(`i=0; while [ $i -lt 500 ]; do echo "bad $i"; i=$((i+1)); done > "$GRAPHRUN_TASK_EVENTS"`, nil)
	task.Emit = rec.emit
	if _, err := runExec(t, task); err != nil {
		t.Fatal(err)
	}
	if len(rec.said) != maxSkipWarnings+1 {
		t.Fatalf("said %d times", len(rec.said))
	}
	if want, got := "480 more lines of the task's events are skipped, up to line 500", rec.said[maxSkipWarnings].Message; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

func TestEventFileTruncated(t *testing.T) {
	rec := &recorder{}
	file, err := openEvents(t.TempDir(), rec.emit)
	if err != nil {
		t.Fatal(err)
	}
	close(file.stop)
	<-file.done
	file.offset = 1000 // as if more had been read before the file shrank
	if err := os.WriteFile(file.path, []byte(`{"event":"text","text":"again"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	file.stop, file.done = make(chan struct{}), make(chan struct{})
	go file.pollFile()
	file.closeFile()
	if len(rec.said) != 1 || rec.said[0].Text != "again" {
		t.Errorf("said %+v, offset %d", rec.said, file.offset)
	}
}

func FuzzEventLine(f *testing.F) {
	for _, seed := range []string{
		`{"event":"progress","percent":40,"message":"m"}`, `{"event":"text","text":"t"}`,
		`{"event":"custom","type":"t","data":[1,2.0,{"a":null}]}`, `{"event":"interrupt"}`, `[`, "\x1b[3", `{"event":1e400}`,
	} {
		f.Add([]byte(seed), false)
	}
	f.Add([]byte("x"), true)
	f.Fuzz(func(t *testing.T, line []byte, tooLong bool) {
		parser := eventParser{}
		said, ok := parser.parseLine(line, tooLong)
		if !ok {
			if len(strings.TrimSpace(string(line))) > 0 || tooLong {
				t.Fatal("nothing was said of a line with text")
			}
			return
		}
		switch said.Type {
		case "progress":
			if said.Percent < 0 || said.Percent > 100 {
				t.Fatalf("percent is %v", said.Percent)
			}
		case "custom":
			if _, err := eval.AppendJSON(nil, said.Data); err != nil || said.Name == "" {
				t.Fatalf("custom %q: %v", said.Name, err)
			}
		case "warning":
			if len(said.Message) > 2000 || strings.ContainsAny(said.Message, "\n\x1b") {
				t.Fatalf("message %q", said.Message)
			}
		case "text":
		default:
			t.Fatalf("type is %q", said.Type)
		}
	})
}

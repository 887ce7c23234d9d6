package process

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sleeper starts a shell that says ready and then sleeps, under a mark.
func sleeper(t *testing.T, place, script string) (*Keeper, *Program, *exec.Cmd) {
	t.Helper()
	k := NewKeeper(place)
	m, err := k.NewProgram()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return k, m, cmd
}

// A keeper that goes while a program runs ends it, as its process's death would.
func TestWatchdogEndsWhatIsLeft(t *testing.T) {
	k, m, cmd := sleeper(t, t.TempDir(), "echo ready; exec sleep 100")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("%v, want killed", err)
	}
	m.Close()
}

func TestKillLeftovers(t *testing.T) {
	place := filepath.Join(t.TempDir(), "tasks")
	_, m, cmd := sleeper(t, place, "echo ready; exec sleep 100")
	if m.Dir() == "" || filepath.Dir(m.Dir()) != place {
		t.Errorf("the mark is in %q", m.Dir())
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	if err := KillLeftovers(place); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("%v, want killed", err)
	}
	if _, err := os.Stat(place); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if err := KillLeftovers(place); err != nil {
		t.Errorf("nothing is left: %v", err)
	}
}

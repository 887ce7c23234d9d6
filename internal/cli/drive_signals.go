// Interrupts as a channel, and small readers that run shares.

package cli

import (
	"context"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/runner/store"
)

// interrupted is why a run was cancelled.
type interrupted struct{ signal os.Signal }

func (e *interrupted) Error() string { return "cancelled by " + e.signal.String() }

// signalChannel delivers interrupts until stop is called.
type signalChannel struct {
	c    <-chan os.Signal
	stop func()
}

func (a *app) signals() signalChannel {
	if a.Notify == nil {
		return signalChannel{stop: func() {}}
	}
	c := make(chan os.Signal, 2) // two are all that matter; none may be lost
	return signalChannel{c: c, stop: a.Notify(c)}
}

// shellWord quotes a word for a shell where that is needed.
func shellWord(s string) string {
	special := func(r rune) bool { return store.CheckID("", string(r)) != nil && !strings.ContainsRune("=/,@%+…", r) }
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	if strings.ContainsFunc(s, unicode.IsControl) { // as bash, zsh and ksh read it
		quoted := strconv.Quote(strings.ReplaceAll(s, "'", `\x27`))
		return "$'" + strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\\x27`, `\x27`), `\"`, `"`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// textOrFile is a flag's text, or for @path the text of a file.
func textOrFile(s string) (string, error) {
	path, isFile := strings.CutPrefix(s, "@")
	if !isFile {
		return s, nil
	}
	src, err := bounded.ReadStream(path, bounded.Text)
	return strings.TrimRight(string(src), "\r\n"), err
}

// interruptible is a context that ends with the first interrupt; stop gives the
// signals back.
func (a *app) interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := a.signals()
	go func() {
		select {
		case <-signals.c:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		signals.stop()
	}
}

// Errors of the file, in words.

package sqlite

import (
	"cmp"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/graphrun/graphrun/runner/store"
)

// Errors of stores, found by errors.Is.
var (
	ErrCorrupt    = store.ErrDamaged
	ErrNotAStore  = errors.New("the file is not a store of graphrun")
	ErrNewer      = errors.New("the file was written by a newer graphrun")
	ErrOlder      = errors.New("the file was written by an older graphrun")
	ErrFull       = errors.New("the disk is full")
	ErrBusy       = errors.New("other processes kept the file locked for too long")
	ErrUnfinished = errors.New("a change of the file was broken off; a command that writes takes it back")
	ErrReadOnly   = errors.New("the file can't be written; check the modes of the file, of its folder and of the files beside it")
	ErrUnreadable = errors.New("the file can't be opened; check the modes of the file, of its folder and of the files beside it")
	ErrGone       = errors.New("the file was deleted, moved or replaced while it was in use; put it back and resume the run, or start it anew")
	ErrEmptied    = errors.New("the file was emptied while it was in use; put a copy in its place, or start the run anew")
	ErrIO         = errors.New("reading or writing failed")
)

// kinds are the errors by SQLite's result codes; an extended code goes before its primary one.
var kinds = map[int]error{
	lib.SQLITE_CORRUPT:           ErrCorrupt,
	lib.SQLITE_NOTADB:            ErrNotAStore,
	lib.SQLITE_FULL:              ErrFull,
	lib.SQLITE_BUSY:              ErrBusy,
	lib.SQLITE_LOCKED:            ErrBusy,
	lib.SQLITE_READONLY:          ErrReadOnly,
	lib.SQLITE_READONLY_RECOVERY: ErrUnfinished,
	lib.SQLITE_READONLY_ROLLBACK: ErrUnfinished,
	lib.SQLITE_READONLY_CANTINIT: ErrUnfinished,
	lib.SQLITE_READONLY_CANTLOCK: ErrUnfinished,
	lib.SQLITE_READONLY_DBMOVED:  ErrGone,
	lib.SQLITE_CANTOPEN:          ErrUnreadable,
	lib.SQLITE_IOERR:             ErrIO,
}

// describeError puts an error of SQLite in words. It returns others as they are.
func describeError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	kind := cmp.Or(kinds[e.Code()], kinds[e.Code()&0xff])
	if kind == nil || errors.Is(err, kind) { // it is described already
		return err
	}
	return fmt.Errorf("%w (%w)", kind, err)
}

func isBusy(err error) bool { return errors.Is(describeError(err), ErrBusy) }

// What can go wrong with the file, in words.

package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/graphrun/graphrun/runner/store"
)

// Errors of stores, found by errors.Is.
var (
	// ErrCorrupt says that the file is damaged.
	ErrCorrupt = store.ErrDamaged
	// ErrNotAStore says that the file is no store of graphrun.
	ErrNotAStore = errors.New("the file is no store of graphrun")
	// ErrNewer says that a newer graphrun wrote the file.
	ErrNewer = errors.New("the file was written by a newer graphrun")
	// ErrOlder says that the file has to be brought up to date first.
	ErrOlder = errors.New("the file was written by an older graphrun")
	// ErrFull says that the disk is full.
	ErrFull = errors.New("the disk is full")
	// ErrBusy says that other processes kept the file for too long.
	ErrBusy = errors.New("other processes kept the file locked for too long")
	// ErrUnfinished says that a change of the file was broken off, and that only a
	// command that writes can take it back.
	ErrUnfinished = errors.New("a change of the file was broken off; a command that writes takes it back")
	// ErrReadOnly says that the file, its folder or its disk can't be written.
	ErrReadOnly = errors.New("the file can't be written; check the modes of the file, of its folder and of the files beside it")
	// ErrUnreadable says that the file can't be opened.
	ErrUnreadable = errors.New("the file can't be opened; check the modes of the file, of its folder and of the files beside it")
	// ErrGone says that the file is not where it was when it was opened.
	ErrGone = errors.New("the file was deleted, moved or replaced while it was in use; put it back and resume the run, or start it anew")
	// ErrEmptied says that the file lost what it held.
	ErrEmptied = errors.New("the file was emptied while it was in use; put a copy in its place, or start the run anew")
	// ErrIO says that the disk or file system failed.
	ErrIO = errors.New("reading or writing failed")
)

// code is SQLite's primary result code of an error; 0: it is none of SQLite's.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func isBusy(err error) bool {
	return code(err) == lib.SQLITE_BUSY || code(err) == lib.SQLITE_LOCKED
}

// describe puts an error of SQLite in words. It returns others as they are.
func describe(err error) error {
	var kind error
	switch code(err) {
	case lib.SQLITE_CORRUPT:
		kind = ErrCorrupt
	case lib.SQLITE_NOTADB:
		kind = ErrNotAStore
	case lib.SQLITE_FULL:
		kind = ErrFull
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		kind = ErrBusy
	case lib.SQLITE_READONLY:
		kind = readOnly(err)
	case lib.SQLITE_CANTOPEN:
		kind = ErrUnreadable
	case lib.SQLITE_IOERR:
		kind = ErrIO
	default:
		return err
	}
	if errors.Is(err, kind) { // it is described already
		return err
	}
	return fmt.Errorf("%w (%w)", kind, err)
}

// readOnly tells a file that can't be written from one that only a connection that
// writes can bring in order.
func readOnly(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() {
		case lib.SQLITE_READONLY_RECOVERY, lib.SQLITE_READONLY_ROLLBACK, lib.SQLITE_READONLY_CANTINIT, lib.SQLITE_READONLY_CANTLOCK:
			return ErrUnfinished
		case lib.SQLITE_READONLY_DBMOVED:
			return ErrGone
		}
	}
	return ErrReadOnly
}

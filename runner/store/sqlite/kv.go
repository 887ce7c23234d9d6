// The key-value part of the file, and transactions.

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// transaction is a transaction of the file. It is a store.Tx.
type transaction struct {
	*sql.Tx
	store *Store
}

// Get returns the value of a key.
func (tx transaction) Get(key string) (value []byte, err error) {
	err = tx.QueryRow(`SELECT value FROM kv WHERE key = ?`, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// Put stores a value.
func (tx transaction) Put(key string, value []byte) error {
	_, err := tx.Exec(`INSERT INTO kv (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2`, key, value)
	return err
}

// Delete removes a key.
func (tx transaction) Delete(key string) error {
	_, err := tx.Exec(`DELETE FROM kv WHERE key = ?`, key)
	return err
}

// afterKeys is greater than any character of a key.
const afterKeys = "\x7f"

// Scan returns the pairs whose keys begin with prefix.
func (tx transaction) Scan(prefix, after string, limit int) (out []store.Pair, err error) {
	rows, err := tx.Query(`SELECT key, value FROM kv WHERE key > ? AND key < ? ORDER BY key LIMIT ?`, max(prefix, after), prefix+afterKeys, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p store.Pair
		if err := rows.Scan(&p.Key, &p.Value); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// Run returns the graph of a run and its driver.
func (tx transaction) Run(runID string) (graph, owner string, err error) {
	err = tx.QueryRow(`SELECT graph, owner FROM runs WHERE id = ?`, runID).Scan(&graph, &owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", noRun(runID)
	}
	return graph, owner, err
}

// IsDriven reports whether a driver has the run.
func (tx transaction) IsDriven(runID string) bool { return tx.store.isDriven(runID) }

// base is the store as store.Records uses it.
type base struct{ *Store }

// View runs a transaction that only reads.
func (b base) View(do func(tx store.Tx) error) error {
	tx, err := b.reader.Begin()
	if err != nil {
		return b.wrap(err)
	}
	defer tx.Rollback()
	return b.wrap(do(transaction{tx, b.Store}))
}

// retryBusy is how soon Update tries again.
const retryBusy = 200 * time.Microsecond

// Update runs a transaction among drivers that commit one step after the other. SQLite
// waits longer and longer for them, and may wait for seconds; frequent attempts find a gap.
// A lazy transaction does not wait for the disk: a later commit that does takes it along.
func (b base) Update(lazy bool, do func(tx store.Tx) error) (err error) {
	if b.writer == nil {
		return b.wrap(errReadOnly)
	}
	ctx := context.Background()
	conn, err := b.writer.Conn(ctx) // the only one: others of this process wait meanwhile
	if err != nil {
		return b.wrap(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	set, reset := `PRAGMA busy_timeout = 0`, fmt.Sprintf(`PRAGMA busy_timeout = %d`, b.opts.Busy.Milliseconds())
	if lazy && b.opts.Durability == Full {
		set, reset = set+`; PRAGMA synchronous = normal`, reset+`; PRAGMA synchronous = full`
	}
	if _, err := conn.ExecContext(ctx, set); err != nil {
		return b.wrap(err)
	}
	defer func() {
		_, failed := conn.ExecContext(ctx, reset)
		err = errors.Join(err, b.wrap(failed))
	}()
	for end := time.Now().Add(b.opts.Busy); ; time.Sleep(retryBusy) {
		err = b.updateBy(ctx, conn, func(tx transaction) error { return do(tx) })
		if !isBusy(err) || time.Now().After(end) {
			return b.wrap(err)
		}
	}
}

// Notify does nothing: drivers poll.
func (base) Notify(string) {}

// Now returns the time.
func (b base) Now() time.Time { return b.opts.Now() }

// update runs a transaction that writes; nothing of it stays when it fails.
func (s *Store) update(do func(tx transaction) error) error {
	return s.updateBy(context.Background(), s.writer, do)
}

// updateBy is update on a connection of the writer, or on the writer itself.
func (s *Store) updateBy(
	ctx context.Context, by interface {
		BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
	}, do func(tx transaction) error,
) error {
	tx, err := by.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	s.writer.wrote.Store(true)
	if err := do(transaction{tx, s}); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// Offers: answers that others have for a run.

package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Offer leaves an offer.
func (s *Store) Offer(runID string, offer store.Offer) error {
	text, err := json.Marshal(offer)
	if err != nil {
		return err
	}
	return s.updateSoon(func(tx *sql.Tx) error {
		run, err := runNumber(tx, runID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO offers (id, run, data) VALUES (?, ?, ?)`, offer.ID, run, string(text))
		return err
	})
}

// Offered says how an offer stands.
func (s *Store) Offered(id string) (open bool, refused string, err error) {
	var why sql.NullString
	err = s.reader.QueryRow(`SELECT refused FROM offers WHERE id = ?`, id).Scan(&why)
	if errors.Is(err, sql.ErrNoRows) {
		return false, "", nil
	}
	return err == nil && !why.Valid, why.String, s.wrap(err)
}

// Withdraw forgets an offer.
func (s *Store) Withdraw(id string) (open bool, refused string, err error) {
	err = s.updateSoon(func(tx *sql.Tx) error {
		var why sql.NullString
		err := tx.QueryRow(`DELETE FROM offers WHERE id = ? RETURNING refused`, id).Scan(&why)
		open, refused = err == nil && !why.Valid, why.String
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return open && err == nil, refused, err
}

// Offers delivers offers.
func (j *journal) Offers() <-chan store.Offer { return j.offers }

// lookForOffers delivers what has come since the last look. What can't be read now
// is left to the next time.
func (j *journal) lookForOffers() {
	next, err := j.newOffers()
	if err != nil {
		return
	}
	for _, offer := range next {
		select {
		case j.offers <- offer:
			j.offered[offer.ID] = true
		default: // the driver is busy, and signs of life don't wait for it
			return
		}
	}
}

func (j *journal) newOffers() (out []store.Offer, err error) {
	rows, err := j.store.reader.Query(`SELECT data FROM offers WHERE run = ? AND refused IS NULL ORDER BY no`, j.run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var offer store.Offer
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		if json.Unmarshal([]byte(text), &offer) == nil && !j.offered[offer.ID] {
			out = append(out, offer)
		}
	}
	return out, rows.Err()
}

// Settle settles an offer: its events are added and it is forgotten in one commit.
func (j *journal) Settle(id string, events []machine.Event, refused string) (taken bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err = j.write(func() error {
		last, size := j.last, 0
		taken = false
		err := j.store.writer.update(func(tx *sql.Tx) error {
			if refused != "" {
				_, err := tx.Exec(`UPDATE offers SET refused = ? WHERE id = ?`, refused, id)
				return err
			}
			open, err := changedOne(tx.Exec(`DELETE FROM offers WHERE id = ? AND refused IS NULL`, id))
			if err != nil || !open {
				return err
			}
			taken = true
			last, size, err = insertEvents(tx.Stmt(j.store.writer.appendEvent), j.last, events)
			return err
		})
		if err == nil {
			j.last, j.journaled = last, j.journaled+size
		}
		return err
	})
	return taken && err == nil, err
}

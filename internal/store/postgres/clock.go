package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

const (
	// clockInterval is the interval between two readings of the database's clock, in which a machine's clock drifts by
	// about a millisecond; sureOfTheTime notices jumps.
	clockInterval = 10 * time.Second
	doubtInterval = time.Second
)

// now is the database's time in a statement, only for readClock: other code uses Store.Now, which does not believe
// every step of the clock. clock_timestamp is the present; now() would be the start of the transaction.
const now = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// Now implements engine.Cluster. It computes the database's time from the last reading, without blocking.
func (s *Store) Now() time.Time { return s.clock.Now() }

// ClockOffset implements engine.Cluster. It is positive if this machine's wall clock is ahead of the database's.
func (s *Store) ClockOffset() time.Duration { return s.clock.Offset() }

// Stepped implements engine.Cluster.
func (s *Store) Stepped(since time.Time) time.Duration { return s.clock.Stepped(since) }

// Suspected implements engine.Cluster.
func (s *Store) Suspected() time.Duration { return s.clock.Suspected() }

// readClock reads the database's clock three times, and keeps the reading with the shortest round trip, the most exact.
// With it come the notes of other processes about the clock. After a correction back by more than a second this process
// drops times in the future.
func (s *Store) readClock(ctx context.Context) error {
	const query = `SELECT n, coalesce(m.key, ''), coalesce(m.value, '') FROM (SELECT ` + now + ` AS n) AS c
  LEFT JOIN tasker_meta m ON starts_with(m.key, $1)`
	for range 3 {
		corrected, err := s.clock.Measure(func() (time.Time, []clock.Witness, error) {
			var theirs task.Instant
			var others []clock.Witness
			err := s.Query(ctx, query, []any{pulses}, func(r store.Row) error {
				var key, value store.Text
				if err := r.Scan(&theirs, &key, &value); err != nil {
					return err
				}
				if w, ok := testimony(string(value)); ok && string(key) != pulses+s.node {
					others = append(others, w)
				}
				return nil
			})
			return theirs.Time(), others, err
		})
		if err != nil {
			return err
		}
		if corrected < -time.Second {
			s.identity.forget()
		}
	}
	return nil
}

// followClock reads the database's clock at an interval and publishes its opinion. It also checks that the database is
// still the same; see checkPool.
func (s *Store) followClock(ctx context.Context) {
	for {
		wait := clockInterval
		if s.clock.Suspected() != 0 {
			wait = doubtInterval
		}
		if clock.Sleep(ctx, wait) != nil {
			return
		}
		_ = s.look(ctx) // an unreachable database is reported elsewhere; the last reading stays valid
	}
}

func (s *Store) look(ctx context.Context) error {
	s.looking.Lock()
	defer s.looking.Unlock()
	if err := s.readClock(ctx); err != nil {
		return err
	}
	return errors.Join(s.checkPool(ctx), s.pulse(ctx))
}

// sureOfTheTime reads the database's clock if the last reading is doubtful: this wall clock was stepped, the machine
// slept, or the reading is old. Without an answer it returns an error, and no operation may depend on the time: with a
// wrong time, two processes could have the same turn.
func (s *Store) sureOfTheTime(ctx context.Context) error {
	if s.clock.Sure() {
		return nil
	}
	if err := s.readClock(ctx); err != nil {
		return err
	}
	if !s.clock.Sure() {
		return task.Errorf(task.Unavailable, "the clock of this machine is being stepped: the time is not certain")
	}
	return nil
}

// pulses is the prefix of the notes with processes' opinions on the database's clock; the process's name follows.
const pulses = "pulse "

// pulsesKept is how long the note of an ended process is kept: new processes need the newest one.
const pulsesKept = 10 * time.Minute

// pulseNote is a clock.Witness in a note, with a number that grows: see identity.
type pulseNote struct {
	Number int64 `json:"n"`

	At    task.Instant `json:"at"`
	Ahead int64        `json:"ahead,omitempty"` // microseconds
	Since task.Instant `json:"since,omitempty"`
	Young bool         `json:"young,omitempty"`
}

// testimony decodes a note; false means unreadable, which counts for nothing.
func testimony(note string) (clock.Witness, bool) {
	var p pulseNote
	if json.Unmarshal([]byte(note), &p) != nil {
		return clock.Witness{}, false
	}
	return clock.Witness{At: p.At.Time(), Ahead: time.Duration(p.Ahead) * time.Microsecond, Since: p.Since.Time(),
		Young: p.Young}, true
}

// pulse stores this process's opinion on the database's clock, and deletes notes of processes that ended long ago, or
// that a clock step left in the future. It stores nothing if the last pulse is missing: then the database is another
// one.
func (s *Store) pulse(ctx context.Context) error {
	before, _, _ := s.identity.before()
	w := s.clock.Testimony()
	s.beats++
	note := pulseNote{Number: s.beats, At: task.At(w.At), Ahead: w.Ahead.Microseconds(), Young: w.Young}
	if w.Ahead != 0 {
		note.Since = task.At(w.Since)
	}
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	const query = `WITH gone AS (DELETE FROM tasker_meta WHERE starts_with(key, $1) AND key <> $2
  AND (value::json ->> 'at')::bigint NOT BETWEEN $4 AND $5)
 INSERT INTO tasker_meta (key, value) SELECT $2, $3 WHERE $6::bigint = 0 OR EXISTS (SELECT 1 FROM tasker_meta m
  WHERE m.key = $2 AND ` + pulseNumber + ` >= $6) ON CONFLICT (key) DO UPDATE SET value = excluded.value`
	n, err := s.Exec(ctx, query, pulses, pulses+s.node, string(text), int64(note.At.Add(-pulsesKept)),
		int64(note.At.Add(pulsesKept)), before.number)
	switch {
	case err != nil:
	case n == 0:
		s.identity.lost()
	default:
		s.identity.stored(note.Number)
	}
	return err
}

// SuspectedStep returns how far the database's clock is ahead of the running processes' time; 0 when all follow it. tx
// sees the tables by their names.
func SuspectedStep(ctx context.Context, tx *sql.Tx) (time.Duration, error) {
	const query = `SELECT ahead FROM (SELECT (value::json ->> 'at')::bigint AS at,
  coalesce((value::json ->> 'ahead')::bigint, 0) AS ahead FROM tasker_meta WHERE starts_with(key, $1)) AS p
 WHERE ahead <> 0 AND ` + now + ` - (at + ahead) BETWEEN -1000000 AND 30000000 ORDER BY abs(ahead) DESC LIMIT 1`
	var ahead int64
	err := tx.QueryRowContext(ctx, query, pulses).Scan(&ahead)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return time.Duration(ahead) * time.Microsecond, err
}

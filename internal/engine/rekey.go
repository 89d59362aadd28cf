package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// When another order comes into force, the waiting steps have keys of the old one. They are rekeyed while claims
// continue, route by route along the queue. Each batch stores the progress, so that another process continues after a
// crash.
//
// A process that has not adopted the new order yet may add steps with old keys before the position reached. So there is
// a second round, which begins when all processes have adopted it.

// rekeyNote is the key of the note with the progress of rekeying; it is empty when all steps have been rekeyed.
const rekeyNote = "rekeying"

// rekeyPlace is the progress of rekeying: all routes before Route are done, and Route itself up to Place.
type rekeyPlace struct {
	Of    orderingID `json:"of"`
	Again bool       `json:"again,omitempty"` // the second round
	Route int64      `json:"route"`
	Key   int64      `json:"key,string,omitempty"`
	ID    string     `json:"id,omitempty"`
}

// place is the position after which the route is still to do.
func (p rekeyPlace) place() (Position, error) {
	if p.ID == "" {
		return Position{Key: math.MinInt64}, nil
	}
	id, err := task.ParseID(p.ID)
	return Position{p.Key, id}, err
}

// noteRekeyPlace stores the progress; nil marks the end. It runs in the transaction that
// rekeys, so progress and keys agree after a crash.
func noteRekeyPlace(ctx context.Context, notes NoteStore, tx Tx, p *rekeyPlace) error {
	if p == nil {
		return notes.Note(ctx, tx, rekeyNote, "")
	}
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode how far steps have been rekeyed: %w", err)
	}
	return notes.Note(ctx, tx, rekeyNote, string(text))
}

// Rekeying reports whether waiting steps may have keys of an order that is no longer in force. It queries the store
// only while that is possible.
func (e *Engine) Rekeying(ctx context.Context) (bool, error) {
	if !e.rekeying.Load() {
		return false, nil
	}
	at, err := e.rekeyPlace(ctx)
	if err == nil && at == nil {
		e.rekeying.Store(false)
	}
	return at != nil, err
}

// rekeyPlace returns the progress of rekeying; nil when all steps have been rekeyed.
func (e *Engine) rekeyPlace(ctx context.Context) (*rekeyPlace, error) {
	text, err := e.noteStore.FindNote(ctx, rekeyNote)
	if err != nil || text == "" {
		return nil, err
	}
	at := &rekeyPlace{}
	if err := json.Unmarshal([]byte(text), at); err != nil {
		return nil, fmt.Errorf("read how far steps have been rekeyed: %w", err)
	}
	return at, nil
}

// Rekey gives waiting steps the keys of the order in force, up to limit at a time, and returns how many it read and
// whether there are more to read now. One process at a time may call it.
func (e *Engine) Rekey(ctx context.Context, limit int) (n int, more bool, err error) {
	if err := e.followOrdering(ctx); err != nil {
		return 0, false, err
	}
	stored, err := e.rekeyPlace(ctx)
	if err != nil || stored == nil {
		return 0, false, err
	}
	at, force := *stored, e.ordering.Load()
	if at.Of != force.id() { // that was for an earlier order
		at = rekeyPlace{Of: force.id()}
	}
	heard := force.since.Add(e.propagationDelay())
	if at.Again && at.Route == 0 && e.instant() < heard {
		return 0, false, nil
	}
	route, err := e.routeFrom(ctx, at.Route)
	if err != nil {
		return 0, false, err
	}
	if route == 0 {
		return 0, true, e.endRound(ctx, at)
	}
	n, err = e.rekeyBatch(ctx, at, route, limit)
	return n, err == nil, err
}

// propagationDelay is the longest time until all processes have adopted another order and have committed what they had
// begun before.
func (e *Engine) propagationDelay() time.Duration {
	if !e.Shared() {
		return 0
	}
	return max(5*time.Second, 5*e.cfg.PollInterval)
}

// routeFrom returns the lowest route number that is not below from; 0 for none.
func (e *Engine) routeFrom(ctx context.Context, from int64) (int64, error) {
	routes, err := e.store.Routes(ctx)
	if err != nil {
		return 0, fmt.Errorf("read routes: %w", err)
	}
	next := int64(0)
	for _, r := range routes {
		if r.ID >= from && (next == 0 || r.ID < next) {
			next = r.ID
		}
	}
	return next, nil
}

// endRound records the end of a round over all routes.
func (e *Engine) endRound(ctx context.Context, at rekeyPlace) error {
	next := &rekeyPlace{Of: at.Of, Again: true}
	if at.Again {
		next = nil
	}
	return e.transact(ctx, func(ctx context.Context, tx Tx) error { return noteRekeyPlace(ctx, e.noteStore, tx, next) })
}

// rekeyBatch rekeys up to limit steps of one route from the stored position on.
func (e *Engine) rekeyBatch(ctx context.Context, at rekeyPlace, route int64, limit int) (n int, err error) {
	if route != at.Route {
		at = rekeyPlace{Of: at.Of, Again: at.Again, Route: route}
	}
	after, err := at.place()
	if err != nil {
		return 0, fmt.Errorf("read how far steps have been rekeyed: %w", err)
	}
	err = e.write(ctx, "rekey", func(u *unit) error {
		steps, err := u.tx.Between(u.ctx, route, after, math.MaxInt64, limit)
		if err != nil {
			return err
		}
		n = len(steps)
		next := rekeyPlace{Of: at.Of, Again: at.Again, Route: route + 1}
		if n == limit {
			last := steps[n-1]
			next = rekeyPlace{Of: at.Of, Again: at.Again, Route: route, Key: last.Key, ID: last.ID.String()}
		}
		if _, err := rekey(u, steps); err != nil {
			return err
		}
		return noteRekeyPlace(u.ctx, e.noteStore, u.tx, &next)
	})
	return n, err
}

// rekey gives ready steps their current keys, and returns how many keys changed.
func rekey(u *unit, steps []*task.Step) (int, error) {
	moved := slices.DeleteFunc(steps, func(s *task.Step) bool {
		was := s.Key
		if !s.Rekey(u.now, u.order) {
			return true
		}
		u.e.queue.rekeyed(u, s, was)
		return false
	})
	if len(moved) == 0 {
		return 0, nil
	}
	return len(moved), u.tx.SaveSteps(u.ctx, moved)
}

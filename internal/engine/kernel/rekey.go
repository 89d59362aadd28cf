package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// After a change of the order, waiting steps have old keys. They are rekeyed along each route's queue during claims.
// Each batch stores the progress for a crash.
//
// A process with the old order may add steps before the position reached. So a second round begins when all processes
// have adopted the new one.

// rekeyNote has the progress; empty when all steps are rekeyed.
const rekeyNote = "rekeying"

type rekeyPlace struct {
	Of    orderingID `json:"of"`
	Again bool       `json:"again,omitempty"` // the second round
	Route int64      `json:"route"`
	Key   int64      `json:"key,string,omitempty"`
	ID    string     `json:"id,omitempty"`
}

func (p rekeyPlace) place() (Position, error) {
	if p.ID == "" {
		return Position{Key: math.MinInt64}, nil
	}
	id, err := task.ParseID(p.ID)
	return Position{p.Key, id}, err
}

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

// Rekeying reports whether waiting steps may have older keys. It queries the store only while that is possible.
func (e *Kernel) Rekeying(ctx context.Context) (bool, error) {
	if !e.rekeying.Load() {
		return false, nil
	}
	at, err := e.rekeyPlace(ctx)
	if err == nil && at == nil {
		e.rekeying.Store(false)
	}
	return at != nil, err
}

func (e *Kernel) rekeyPlace(ctx context.Context) (*rekeyPlace, error) {
	text, err := e.NoteStore.FindNote(ctx, rekeyNote)
	if err != nil || text == "" {
		return nil, err
	}
	at := &rekeyPlace{}
	if err := json.Unmarshal([]byte(text), at); err != nil {
		return nil, fmt.Errorf("read how far steps have been rekeyed: %w", err)
	}
	return at, nil
}

// Rekey rekeys up to limit waiting steps, and returns how many it read and whether there are more. One process at a
// time may call it.
func (e *Kernel) Rekey(ctx context.Context, limit int) (n int, more bool, err error) {
	if err := e.followOrdering(ctx); err != nil {
		return 0, false, err
	}
	stored, err := e.rekeyPlace(ctx)
	if err != nil || stored == nil {
		return 0, false, err
	}
	at, force := *stored, e.ordering.Load()
	if at.Of != force.id() { // for an earlier order
		at = rekeyPlace{Of: force.id()}
	}
	heard := force.since.Add(e.propagationDelay())
	if at.Again && at.Route == 0 && e.Now() < heard {
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

// propagationDelay bounds the time until all processes use an order and have committed earlier transactions.
func (e *Kernel) propagationDelay() time.Duration {
	if !e.Shared() {
		return 0
	}
	return max(5*time.Second, 5*e.Cfg.PollInterval)
}

// routeFrom returns the lowest route number at or above from; 0: none.
func (e *Kernel) routeFrom(ctx context.Context, from int64) (int64, error) {
	routes, err := e.Store.Routes(ctx)
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

func (e *Kernel) endRound(ctx context.Context, at rekeyPlace) error {
	next := &rekeyPlace{Of: at.Of, Again: true}
	if at.Again {
		next = nil
	}
	return e.Transact(ctx, func(ctx context.Context, tx Tx) error { return noteRekeyPlace(ctx, e.NoteStore, tx, next) })
}

func (e *Kernel) rekeyBatch(ctx context.Context, at rekeyPlace, route int64, limit int) (n int, err error) {
	if route != at.Route {
		at = rekeyPlace{Of: at.Of, Again: at.Again, Route: route}
	}
	after, err := at.place()
	if err != nil {
		return 0, fmt.Errorf("read how far steps have been rekeyed: %w", err)
	}
	err = e.Write(ctx, "rekey", func(u *Unit) error {
		steps, err := u.Tx.Between(u.Ctx, route, after, math.MaxInt64, limit)
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
		return noteRekeyPlace(u.Ctx, e.NoteStore, u.Tx, &next)
	})
	return n, err
}

// rekey returns how many keys changed.
func rekey(u *Unit, steps []*task.Step) (int, error) {
	moved := slices.DeleteFunc(steps, func(s *task.Step) bool {
		was := s.Key
		if !s.Rekey(u.Now, u.Order) {
			return true
		}
		u.E.Queue.rekeyed(u, s, was)
		return false
	})
	if len(moved) == 0 {
		return 0, nil
	}
	return len(moved), u.Tx.SaveSteps(u.Ctx, moved)
}

package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

type burstName struct{ route, group int64 }

func burstsTable(s *state) map[burstName]task.Burst { return s.bursts }

func outagesTable(s *state) map[task.ID]task.Outage { return s.outages }

// BurstStore implements engine.Database.
func (s *Store) BurstStore() engine.BurstStore { return s }

// OutageStore implements engine.Database.
func (s *Store) OutageStore() engine.OutageStore { return s }

// AddBurst implements engine.BurstStore.
func (*Store) AddBurst(_ context.Context, within engine.Tx, route, group int64, net int, now task.Instant,
	window time.Duration,
) (task.Burst, error) {
	name := burstName{route, group}
	b := in(within).s.bursts[name]
	b.RouteID, b.Group = route, group
	b = b.Add(net, now, window)
	put(in(within), burstsTable, name, b)
	return b, nil
}

// ClearBursts implements engine.BurstStore.
func (*Store) ClearBursts(_ context.Context, within engine.Tx, route int64) error {
	for _, b := range in(within).s.sortedBursts() {
		if b.RouteID == route {
			drop(in(within), burstsTable, burstName{b.RouteID, b.Group})
		}
	}
	return nil
}

// DropBursts implements engine.BurstStore.
func (*Store) DropBursts(_ context.Context, within engine.Tx, before task.Instant, limit int) (n int, err error) {
	for _, b := range in(within).s.sortedBursts() {
		if b.Since < before && n < limit {
			drop(in(within), burstsTable, burstName{b.RouteID, b.Group})
			n++
		}
	}
	return n, nil
}

func (s *state) sortedBursts() []task.Burst {
	list := make([]task.Burst, 0, len(s.bursts))
	for _, b := range s.bursts {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b task.Burst) int { return cmp.Or(cmp.Compare(a.Since, b.Since), a.Compare(b)) })
	return list
}

// AddOutage implements engine.OutageStore.
func (s *Store) AddOutage(ctx context.Context, within engine.Tx, o *task.Outage) (bool, error) {
	if open, err := s.OpenOutage(ctx, within, o.RouteID); err != nil || open != nil {
		return false, err
	}
	put(in(within), outagesTable, o.ID, *o)
	return true, nil
}

// SaveOutage implements engine.OutageStore.
func (*Store) SaveOutage(_ context.Context, within engine.Tx, o *task.Outage) error {
	put(in(within), outagesTable, o.ID, *o)
	return nil
}

// OpenOutage implements engine.OutageStore.
func (*Store) OpenOutage(_ context.Context, within engine.Tx, route int64) (*task.Outage, error) {
	for _, o := range in(within).s.outages {
		if o.RouteID == route && o.Open() {
			return &o, nil
		}
	}
	return nil, nil
}

// LockOutage implements engine.OutageStore.
func (*Store) LockOutage(_ context.Context, within engine.Tx, id task.ID) (*task.Outage, error) {
	return outageIn(in(within).s, id), nil
}

// FindOutage implements engine.OutageStore.
func (s *Store) FindOutage(ctx context.Context, id task.ID) (*task.Outage, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return outageIn(st, id), nil
}

func outageIn(s *state, id task.ID) *task.Outage {
	if o, ok := s.outages[id]; ok {
		return &o
	}
	return nil
}

// DropOutages implements engine.OutageStore.
func (*Store) DropOutages(_ context.Context, within engine.Tx, before task.Instant, limit int) (n int, err error) {
	var closed []task.Outage
	for _, o := range in(within).s.outages {
		if !o.Open() && o.ClosedAt < before {
			closed = append(closed, o)
		}
	}
	slices.SortFunc(closed, func(a, b task.Outage) int {
		return cmp.Or(cmp.Compare(a.ClosedAt, b.ClosedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	for _, o := range closed[:min(limit, len(closed))] {
		drop(in(within), outagesTable, o.ID)
		n++
	}
	return n, nil
}

// Outages implements engine.OutageStore.
func (s *Store) Outages(ctx context.Context, f engine.OutageFilter) ([]*task.Outage, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var list []*task.Outage
	for _, o := range st.outages {
		switch {
		case f.State == engine.OutageOpen && !o.Open(), f.State == engine.OutageClosed && o.Open():
		case !f.Below.IsZero() && bytes.Compare(o.ID[:], f.Below[:]) >= 0:
		case len(f.Namespaces) > 0 && !slices.Contains(f.Namespaces, o.Namespace):
		default:
			list = append(list, &o)
		}
	}
	slices.SortFunc(list, func(a, b *task.Outage) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return list[:min(f.Limit, len(list))], nil
}

package redis

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Start implements engine.Dispatcher. A lease that is not in force gives a zero Hold.
func (d *Dispatcher) Start(ctx context.Context, refs []engine.LeaseRef, now,
	until task.Instant,
) ([]engine.Hold, error) {
	packed := batches(refs, idSize+16, putLease)
	runs := each(packed, string(put64(nil, int64(now))), string(put64(nil, int64(until))))
	return d.holds(ctx, "start attempts", d.scripts.start, runs, len(refs))
}

// putLease appends step, token and worker of a lease; worker 0 is any.
func putLease(b []byte, r *engine.LeaseRef) []byte {
	return put64(put64(append(b, r.Step[:]...), r.Token), r.Worker)
}

// Renew implements engine.Dispatcher. A lease that is not in force gives a zero Hold.
func (d *Dispatcher) Renew(ctx context.Context, renewals []engine.Renewal, until task.Instant) ([]engine.Hold, error) {
	packed := batches(renewals, idSize+20, func(b []byte, r *engine.Renewal) []byte {
		b = putLease(b, &r.LeaseRef)
		if r.Progress == nil {
			return big.AppendUint32(b, 0)
		}
		b = big.AppendUint32(b, uint32(4+len(r.Progress.Note)))
		return putProgress(b, r.Progress.Percent, r.Progress.Note)
	})
	return d.holds(ctx, "renew leases", d.scripts.renew, each(packed, string(put64(nil, int64(until)))), len(renewals))
}

// Find implements engine.Dispatcher: a step without a holder gives a zero Hold.
func (d *Dispatcher) Find(ctx context.Context, steps []task.ID) ([]engine.Hold, error) {
	packed := batches(steps, idSize, func(b []byte, id *task.ID) []byte { return append(b, id[:]...) })
	return d.holds(ctx, "find leases", d.scripts.find, each(packed), len(steps))
}

// HeldBy implements engine.Dispatcher: up to limit steps of a worker, by their next check.
func (d *Dispatcher) HeldBy(ctx context.Context, worker int64, limit int) ([]engine.Hold, error) {
	run := []string{string(put64(nil, worker)), strconv.Itoa(max(limit, 0))}
	list, err := d.holds(ctx, "list leases", d.scripts.heldBy, [][]string{run}, -1)
	slices.SortFunc(list, func(a, b engine.Hold) int {
		return cmp.Or(cmp.Compare(a.LookAt, b.LookAt), bytes.Compare(a.Step[:], b.Step[:]))
	})
	return list, err
}

// Held counts the steps of workers, from their sets. The map omits workers without steps.
func (d *Dispatcher) Held(ctx context.Context) (map[int64]int, error) {
	answer, err := d.call(ctx, "count leases", d.scripts.held)
	if err != nil {
		return nil, err
	}
	lists, err := answer.ToArray()
	if err != nil || len(lists) != 2 {
		return nil, errAnswer
	}
	workers, err := lists[0].AsStrSlice()
	if err != nil {
		return nil, errAnswer
	}
	counts, err := lists[1].AsIntSlice()
	if err != nil || len(counts) != len(workers) {
		return nil, errAnswer
	}
	held := make(map[int64]int, len(workers))
	for i, w := range workers {
		if len(w) != 8 {
			return nil, errAnswer
		}
		held[int64(big.Uint64([]byte(w)))] = int(counts[i])
	}
	return held, nil
}

// Expired implements engine.Dispatcher: up to limit leases due for a check, the earliest first. It changes nothing.
func (d *Dispatcher) Expired(ctx context.Context, now task.Instant, limit int) ([]engine.Hold, error) {
	run := []string{strconv.FormatInt(int64(now), 10), strconv.Itoa(max(limit, 0))}
	return d.holds(ctx, "list leases", d.scripts.expired, [][]string{run}, -1)
}

// holds reads a hold for each requested item, or all that there are.
func (d *Dispatcher) holds(ctx context.Context, verb string, script *rueidis.Lua, runs [][]string,
	asked int,
) ([]engine.Hold, error) {
	answers, err := d.calls(ctx, verb, script, runs)
	if err != nil {
		return nil, err
	}
	var out []engine.Hold
	for _, a := range answers {
		list, err := a.ToArray()
		if err != nil {
			return nil, err
		}
		out = slices.Grow(out, len(list))
		for i := range list {
			b, err := list[i].AsBytes()
			if err != nil {
				return nil, err
			}
			var h engine.Hold
			if len(b) > 0 {
				if h, err = hold(b); err != nil {
					return nil, err
				}
			}
			out = append(out, h)
		}
	}
	if asked >= 0 && len(out) != asked {
		return nil, errAnswer
	}
	return out, nil
}

package kernel

import (
	"context"
	"errors"
	"testing"

	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/task"
)

func besides(during func(h *waiters, capacity int) (int, error)) *Kernel {
	e := &Kernel{handing: handing{waiters: newWaiters()}}
	e.claims = coalesce.New(Callers, 1, func(calls []*poller) ([][]Lease, error) {
		out := make([][]Lease, len(calls))
		for i, p := range calls {
			n, err := during(e.waiters, p.capacity)
			if err != nil {
				return nil, err
			}
			for range n {
				out[i] = append(out[i], leaseOn(p.routes[0]))
			}
		}
		e.waiters.noteDepths(groupByRoutes(calls), out)
		return out, nil
	})
	return e
}

func leaseOn(route int64) Lease { return Lease{Step: task.Step{RouteID: route}} }

// give hands a step to the poller that waits on a route, as a commit does.
func give(h *waiters, route int64) bool {
	p := h.reserve(route)
	if p == nil {
		return false
	}
	p.promised++
	p.handed = append(p.handed, leaseOn(route))
	h.publish(&Unit{Ready: readySteps{pollers: []*poller{p}}})
	return true
}

func TestClaimBeside(t *testing.T) {
	t.Parallel()
	poll := func(e *Kernel, capacity int, routes ...int64) (*poller, []Lease, error) {
		p := &poller{routes: routes, capacity: capacity}
		leases, err := e.splitClaim(context.Background(), p)
		if len(e.waiters.emptying) > 0 || e.waiters.awaited(routes[0]) {
			t.Errorf("after the claim %v count as being emptied, and a poller waits: %t", e.waiters.emptying,
				e.waiters.awaited(routes[0]))
		}
		return p, leases, err
	}

	t.Run("HalfWaits", func(t *testing.T) {
		t.Parallel()
		for capacity, half := range map[int]int{1: 1, 2: 1, 5: 3, 10: 5} {
			e := besides(func(h *waiters, n int) (int, error) {
				if n != half || h.awaited(1) != (n < capacity) || h.isEmptying(2) != (n < capacity) || h.isEmptying(3) {
					t.Errorf("a poll for %d claims %d, the rest waits: %t", capacity, n, h.awaited(1))
				}
				return 0, nil
			})
			if _, leases, err := poll(e, capacity, 1, 2); len(leases) != 0 || err != nil {
				t.Errorf("got %d steps, error %v", len(leases), err)
			}
		}
	})

	t.Run("HandedWhileClaiming", func(t *testing.T) {
		t.Parallel()
		e := besides(func(h *waiters, n int) (int, error) {
			if !give(h, 1) || give(h, 1) {
				t.Error("want one poller to hand a step to")
			}
			return n, nil
		})
		if _, leases, err := poll(e, 4, 1); len(leases) != 3 || err != nil {
			t.Errorf("got %d steps, error %v; want the 2 claimed and the one handed over", len(leases), err)
		}
	})

	t.Run("HandedWhileTheClaimFails", func(t *testing.T) {
		t.Parallel()
		e := besides(func(h *waiters, _ int) (int, error) { give(h, 1); return 0, errors.New("away") })
		if _, leases, err := poll(e, 4, 1); len(leases) != 1 || err != nil {
			t.Errorf("got %d steps, error %v; want the step that was handed over", len(leases), err)
		}
	})

	t.Run("ClaimFails", func(t *testing.T) {
		t.Parallel()
		away := errors.New("away")
		e := besides(func(*waiters, int) (int, error) { return 0, away })
		if _, leases, err := poll(e, 4, 1); len(leases) != 0 || !errors.Is(err, away) {
			t.Errorf("got %d steps, error %v", len(leases), err)
		}
	})

	t.Run("RolledBack", func(t *testing.T) {
		t.Parallel()
		e := besides(func(h *waiters, _ int) (int, error) {
			u := &Unit{Ready: readySteps{pollers: []*poller{h.reserve(1)}}}
			u.Ready.pollers[0].handed = append(u.Ready.pollers[0].handed, leaseOn(1))
			u.Ready.releasePollers()
			return 1, nil
		})
		if _, leases, err := poll(e, 4, 1); len(leases) != 1 || err != nil {
			t.Errorf("got %d steps, error %v; want the claimed one alone", len(leases), err)
		}
	})

	t.Run("FullClaimsHaveNobodyBeside", func(t *testing.T) {
		t.Parallel()
		found, want := 0, 0
		e := besides(func(h *waiters, n int) (int, error) {
			if n != want || h.isEmptying(1) != (n == 5) {
				t.Errorf("claims %d, want %d; is emptying: %t", n, want, h.isEmptying(1))
			}
			return found, nil
		})
		for _, claim := range []struct {
			routes      []int64
			want, found int
		}{
			{[]int64{1, 2}, 5, 5},
			{[]int64{1, 2}, 10, 10},
			{[]int64{1, 2}, 10, 9}, // emptied
			{[]int64{1, 2}, 5, 4},
			{[]int64{1, 2}, 5, 5},
			{[]int64{1}, 10, 3},
			{[]int64{1}, 5, 0},
			{[]int64{1, 2}, 10, 10},
			{[]int64{1, 2}, 10, 0},
			{[]int64{1, 2}, 5, 0},
		} {
			want, found = claim.want, claim.found
			_, _, _ = poll(e, 10, claim.routes...)
		}
	})

	t.Run("WhoIsWokenClaimsAll", func(t *testing.T) {
		t.Parallel()
		for owed, want := range map[int]int{1: 5, 5: 5, 7: 7, 10: 10} {
			e := besides(func(_ *waiters, n int) (int, error) {
				if n != want {
					t.Errorf("woken for %d steps, claims %d", owed, n)
				}
				return n, nil
			})
			p := &poller{routes: []int64{1}, capacity: 10, owed: owed, owedRoute: 1}
			if leases, err := e.splitClaim(context.Background(), p); len(leases) != want || err != nil {
				t.Errorf("got %d steps, error %v", len(leases), err)
			}
		}
	})
}

// A poll that is woken while it claims, and returns other steps, wakes others.
func TestClaimBesidePassesOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		found int
		err   error
		woken int
	}{
		"Found":   {found: 1, woken: 2},
		"Failed":  {err: errors.New("away"), woken: 2},
		"Nothing": {woken: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var others [3]*poller
			e := besides(func(h *waiters, _ int) (int, error) {
				h.publish(&Unit{Wake: wakeups{queued: map[int64]int{1: 2}}})
				for i := range others {
					others[i] = &poller{routes: []int64{1}, capacity: 1}
					h.await(others[i], h.version.Load())
				}
				return tc.found, tc.err
			})
			p := &poller{routes: []int64{1}, capacity: 4}
			if leases, err := e.splitClaim(context.Background(), p); len(leases) != tc.found || !errors.Is(err, tc.err) {
				t.Errorf("got %d steps, error %v", len(leases), err)
			}
			n := 0
			for _, o := range others {
				if woken(o) {
					n++
				}
			}
			if n != tc.woken {
				t.Errorf("%d other polls were woken, want %d", n, tc.woken)
			}
			if looks := tc.woken == 0; looks != (p.owed == 2) {
				t.Errorf("the poll owes %d steps, though it looks again: %t", p.owed, looks)
			}
		})
	}
}

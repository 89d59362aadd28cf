package kernel

import (
	"errors"
	"slices"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func woken(p *poller) bool {
	select {
	case <-p.wake:
		return true
	default:
		return false
	}
}

func TestHub(t *testing.T) {
	t.Parallel()
	waiting := func(t *testing.T, h *waiters, routes ...int64) *poller {
		p := &poller{routes: routes, capacity: 1}
		if !h.await(p, h.version.Load()) {
			t.Fatal("the poller was turned away")
		}
		return p
	}

	t.Run("PassWakesAnotherOfTheRoute", func(t *testing.T) {
		t.Parallel()
		h := newWaiters()
		gone, next, other := waiting(t, h, 1), waiting(t, h, 1, 2), waiting(t, h, 3)
		h.publish(&Unit{Wake: wakeups{queued: map[int64]int{1: 1}}})
		if woken(gone) == woken(next) || woken(other) {
			t.Fatal("one step wakes one poller of its route")
		}
		if woken(next) {
			gone, next = next, gone
		}
		h.forwardWake(gone)
		if !woken(next) || woken(other) {
			t.Error("the wake-up was not passed on to the other poller of the route")
		}
	})

	t.Run("FailEndsAPollThatHasJustLooked", func(t *testing.T) {
		t.Parallel()
		h := newWaiters()
		version := h.version.Load()
		h.fail(errors.New("the store is lost"))
		if h.await(&poller{routes: []int64{1}, capacity: 1}, version) {
			t.Error("a poll that looked before the store was lost waits, and hears nothing of it")
		}
	})

	t.Run("ManyRoutes", func(t *testing.T) {
		t.Parallel()
		h := newWaiters()
		many := make([]int64, maxNarrow+1)
		for i := range many {
			many[i] = int64(i + 1)
		}
		one, two := waiting(t, h, many...), waiting(t, h, many...)
		if n := len(h.pollers.narrow) + len(h.pollers.wide); n != 1 {
			t.Errorf("two polls that share %d routes are in %d sets, want 1", len(many), n)
		}
		if got := h.awaitedRoutes(); !slices.Equal(got, many) {
			t.Errorf("they wait on %d routes, want %d", len(got), len(many))
		}
		h.ready(map[int64]int{maxNarrow: 1, maxNarrow + 2: 1})
		if woken(one) == woken(two) {
			t.Error("one step wakes one of the polls")
		}
		h.withdraw(one)
		h.withdraw(two)
		if h.awaited(1) || len(h.pollers.wide) > 0 {
			t.Error("a poll waits after both have left")
		}
	})

	t.Run("PassWakesForEachStep", func(t *testing.T) {
		t.Parallel()
		h := newWaiters()
		large := &poller{routes: []int64{1}, capacity: 5}
		if !h.await(large, h.version.Load()) {
			t.Fatal("the poller was turned away")
		}
		h.publish(&Unit{Wake: wakeups{queued: map[int64]int{1: 3}}})
		small := make([]*poller, 4)
		for i := range small {
			small[i] = waiting(t, h, 1)
		}
		large.countClaimed([]Lease{{Step: task.Step{RouteID: 2}}, {Step: task.Step{RouteID: 1}}})
		h.forwardWake(large)
		n := 0
		for _, p := range small {
			if woken(p) {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%d pollers of one step each were woken for the 2 that were not taken of 3", n)
		}
		h.forwardWake(&poller{routes: []int64{1}})
		if m := len(h.pollers.narrow[1]); m != 2 {
			t.Errorf("%d pollers wait, want 2: who was woken for nothing passes nothing on", m)
		}
	})

	t.Run("WakeAllFindsPollersWithoutRoutes", func(t *testing.T) {
		t.Parallel()
		h := newWaiters()
		p := waiting(t, h)
		h.wakeAll()
		if !woken(p) {
			t.Error("a poller that can serve no route yet sleeps through the first one")
		}
	})

	t.Run("NobodyWaitsPastAPublication", func(t *testing.T) {
		t.Parallel()
		h := newWaiters()
		version := h.version.Load()
		h.publish(&Unit{Wake: wakeups{queued: map[int64]int{1: 1}}})
		if h.await(&poller{routes: []int64{1}}, version) {
			t.Error("a poll that looked before the publication waits as if nothing had happened")
		}
	})

	t.Run("ForgetTellsWhoIsInHand", func(t *testing.T) {
		t.Parallel()
		h := newWaiters()
		p := waiting(t, h, 1)
		if h.reserve(1) != p {
			t.Fatal("the waiting poller was not reserved")
		}
		if h.withdraw(p) {
			t.Error("a poller that a transaction serves was still waiting")
		}
		if h.reserve(1) != nil {
			t.Error("a poller was reserved twice")
		}
	})
}

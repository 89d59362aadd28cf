package dispatchtest

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

func listeningCases() []testCase {
	return []testCase{
		{"OthersHear", othersHear},
		{"Ends", listenEnds},
	}
}

// listen starts Listen on d. heard gets the routes of each message and ended gets Listen's error; the function stops
// it.
func listen(f *fixture, d engine.Dispatcher) (<-chan map[int64]int, <-chan error, context.CancelFunc) {
	ctx, cancel := context.WithCancel(f.Context())
	f.Cleanup(cancel)
	heard, ended := make(chan map[int64]int, 10_000), make(chan error, 1)
	go func() {
		ended <- d.Listen(ctx, func(routes map[int64]int) { heard <- routes })
	}()
	return heard, ended, cancel
}

// tuned offers steps from n on until the other process gets a message, since subscribing takes time. It returns the
// next number.
func tuned(f *fixture, n int, heard <-chan map[int64]int) int {
	await.Until(f, "the other process hears", func() bool {
		f.offer(step(n))
		n++
		return len(heard) > 0
	})
	return n
}

func othersHear(f *fixture) {
	other := f.sys.Open(f)
	f.ok(other.Check(f.Context()))
	heard, _, _ := listen(f, other)
	n := tuned(f, 1, heard)
	own, _, _ := listen(f, f.d)

	list := steps(n, n+4)
	list[1].Route, list[3].Route = route+1, -9
	list = append(list, step(1)) // it is there already
	f.offer(list...)
	f.ok(other.Offer(f.Context(), steps(1, n))) // nothing new, no message
	await.Until(f, "all is heard", func() bool {
		for got := range heard {
			if len(got) == 3 {
				f.same("heard", map[int64]int{route: 3, route + 1: 1, -9: 1}, got)
				return true
			}
			f.same("heard before", map[int64]int{route: 1}, got)
		}
		return false
	})
	m := n + 100
	await.Until(f, "this process hears the other", func() bool {
		f.ok(other.Offer(f.Context(), []engine.Offered{step(m)}))
		m++
		return len(own) > 0
	})
	mine, last := step(m), step(m+1)
	mine.Route, last.Route = 54, 55
	f.offer(mine)
	f.ok(other.Offer(f.Context(), []engine.Offered{last}))
	for got := range own {
		if got[54] != 0 {
			f.Fatal("a process hears itself")
		}
		if got[55] == 1 {
			break
		}
	}
}

func listenEnds(f *fixture) {
	heard, ended, cancel := listen(f, f.sys.Open(f))
	tuned(f, 1, heard)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		f.Fatalf("Listen: %v, want %v", err, context.Canceled)
	}
}

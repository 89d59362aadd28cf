package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	now   = task.Instant(1_795_000_000_000_000)
	until = now + 90_000_000
)

func filled(b testing.TB) engine.Dispatcher {
	b.Helper()
	d := shared(b).Open(b)
	if mine, err := d.Reload(b.Context(), time.Minute); err != nil || !mine {
		b.Fatal(mine, err)
	}
	if err := d.Loaded(b.Context()); err != nil {
		b.Fatal(err)
	}
	return d
}

func someSteps(from, n int) []engine.Offered {
	list := make([]engine.Offered, n)
	for i := range list {
		at := from + i
		list[i] = engine.Offered{Step: task.MakeID(int64(at), uint64(at)), Route: int64(at % 10),
			Key:     50<<52 | int64(now) + int64(at),
			Timeout: time.Minute, Priority: 50}
	}
	return list
}

var tenRoutes = []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}

// BenchmarkVerbs reports the cost of each verb for a step.
func BenchmarkVerbs(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := filled(b)
			ctx := b.Context()
			var spent [4]time.Duration
			lap := func(verb int, do func() error) {
				began := time.Now()
				if err := do(); err != nil {
					b.Fatal(err)
				}
				spent[verb] += time.Since(began)
			}
			at := 0
			for b.Loop() {
				list := someSteps(at, n)
				at += n
				var holds [][]engine.Hold
				lap(0, func() error { return d.Offer(ctx, list) })
				lap(1, func() (err error) {
					c := engine.Claim{Worker: 1, Routes: tenRoutes, Capacity: n, Start: true, Until: until}
					holds, err = d.Claim(ctx, []engine.Claim{c}, now)
					return err
				})
				if len(holds[0]) != n {
					b.Fatalf("%d claimed, want %d", len(holds[0]), n)
				}
				renewals, gone := make([]engine.Renewal, n), make([]engine.Removal, n)
				for i, h := range holds[0] {
					renewals[i].LeaseRef, gone[i] = engine.LeaseRef{Step: h.Step, Token: h.Token}, engine.Removal{Offered: h.Offered}
				}
				lap(2, func() error { _, err := d.Renew(ctx, renewals, until); return err })
				lap(3, func() error { return d.Remove(ctx, gone) })
			}
			for i, verb := range []string{"offer", "claim", "renew", "remove"} {
				b.ReportMetric(float64(spent[i].Nanoseconds())/float64(at), verb+"-ns/step")
			}
		})
	}
}

// BenchmarkMillion fills Redis with a million steps, and claims from them.
func BenchmarkMillion(b *testing.B) {
	const n, size = 1_000_000, 5000
	for b.Loop() {
		d := filled(b)
		began := time.Now()
		for at := 0; at < n; at += size {
			if err := d.Offer(b.Context(), someSteps(at, size)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-to-fill")
		began = time.Now()
		for range 100 {
			c := engine.Claim{Worker: 1, Routes: tenRoutes, Capacity: 100, Start: true, Until: until}
			if _, err := d.Claim(b.Context(), []engine.Claim{c}, now); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/100, "µs/claim-of-100")
	}
}

// BenchmarkIdlePolls claims for many workers with hundreds of routes without steps.
func BenchmarkIdlePolls(b *testing.B) {
	for _, sets := range []int{1, 100} {
		b.Run(fmt.Sprintf("%dsets", sets), func(b *testing.B) {
			d := filled(b)
			routes := make([][]int64, sets)
			for i := range routes {
				for r := range int64(300) {
					routes[i] = append(routes[i], int64(i)+r)
				}
			}
			claims := make([]engine.Claim, 100)
			for i := range claims {
				claims[i] = engine.Claim{Worker: int64(i), Routes: routes[i%sets], Capacity: 10, Until: until}
			}
			for b.Loop() {
				if _, err := d.Claim(b.Context(), claims, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

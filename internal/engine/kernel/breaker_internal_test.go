package kernel

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Other processes may have seen a worker succeed between distant losses.
func TestLostLeasesApart(t *testing.T) {
	const lease = 90 * time.Second
	for _, test := range []struct {
		apart time.Duration
		opens bool
	}{{time.Second, true}, {lostApart * lease, true}, {lostApart*lease + time.Microsecond, false}, {time.Hour, false}} {
		b := newBreakers(settings.WorkerBreaker{Failures: 5, OpenFor: time.Minute, HalfOpen: 3}, lease)
		now, opened := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), 0
		for n := 1; n <= 20 && opened == 0; n++ {
			if len(b.evaluate([]breakerOutcome{{worker: 1, lost: true, since: now}}, now, true)) > 0 {
				opened = n
			}
			now = now.Add(test.apart)
		}
		if (opened == 5) != test.opens {
			t.Errorf("with a lease lost each %v the breaker opens after %d (0: not at all), want that: %t", test.apart, opened,
				test.opens)
		}
	}
}

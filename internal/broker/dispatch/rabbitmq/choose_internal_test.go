package rabbitmq

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	const h, d, u = task.HealthHealthy, task.HealthDegraded, task.HealthUnhealthy
	for name, c := range map[string]struct {
		list []candidate
		want int
	}{
		"Nobody":                   {nil, -1},
		"HealthyFirst":             {[]candidate{{d, 0, 10, 0}, {h, 9, 10, 0}}, 1},
		"DegradedBeforeFull":       {[]candidate{{h, 10, 10, 0}, {d, 0, 10, 0}}, 1},
		"UnhealthyNever":           {[]candidate{{u, 0, 10, 0}}, -1},
		"DegradedIfNoOther":        {[]candidate{{u, 0, 10, 0}, {d, 5, 10, 0}}, 1},
		"LeastLoaded":              {[]candidate{{h, 5, 10, 0}, {h, 40, 100, 0}, {h, 1, 2, 0}}, 1},
		"RoundRobin":               {[]candidate{{h, 0, 10, 7}, {h, 0, 10, 5}, {h, 0, 20, 6}}, 1},
		"AllFull":                  {[]candidate{{h, 10, 10, 7}, {h, 10, 10, 5}}, 1},
		"OverItsCapacity":          {[]candidate{{h, 12, 10, 0}, {h, 9, 10, 0}}, 1},
		"WithoutCapacityNotAtAll":  {[]candidate{{h, 0, 0, 0}}, -1},
		"DegradedAfterBusyHealthy": {[]candidate{{d, 0, 100, 0}, {h, 99, 100, 9}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := choose(c.list); got != c.want {
				t.Errorf("chose %d, want %d", got, c.want)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	list := []candidate{{health: task.HealthHealthy, capacity: 10}, {health: task.HealthHealthy, capacity: 10},
		{health: task.HealthHealthy, capacity: 40}}
	for steps, turn := 30, int64(1); steps > 0; turn++ {
		i := choose(list)
		n := min(chunk(&list[i], len(list)-1), steps)
		list[i].held += n
		list[i].asked = turn
		steps -= n
	}
	for i, want := range []int{5, 5, 20} {
		if got := list[i].held; got < want-2 || got > want+3 {
			t.Errorf("worker %d got %d of 30 steps, want about %d", i, got, want)
		}
	}
}

func TestChunk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		c      candidate
		rivals int
		want   int
	}{
		"Alone":       {candidate{capacity: 10, held: 2}, 0, 8},
		"AmongRivals": {candidate{capacity: 10, held: 2}, 3, 2},
		"Full":        {candidate{capacity: 10, held: 10}, 0, 1},
		"Bounded":     {candidate{capacity: 10_000}, 0, maxChunk},
	} {
		if got := chunk(&c.c, c.rivals); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

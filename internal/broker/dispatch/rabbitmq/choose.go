package rabbitmq

import "github.com/taskerhq/tasker/internal/model/task"

// candidate is a worker as choose sees it.
type candidate struct {
	health   task.WorkerHealth
	held     int // steps that it holds or is being asked for
	capacity int
	asked    int64
}

func (c *candidate) free() int { return max(c.capacity-c.held, 0) }

// choose returns the place of the best worker, or -1: one with a free slot before a full one, healthy before degraded,
// then the lowest load (held of capacity), then the longest wait for a turn. It skips unhealthy workers.
func choose(list []candidate) int {
	best := -1
	for i := range list {
		if list[i].health == task.HealthUnhealthy || list[i].capacity <= 0 {
			continue
		}
		if best < 0 || list[i].better(&list[best]) {
			best = i
		}
	}
	return best
}

func (c *candidate) better(other *candidate) bool {
	if full, rest := c.free() == 0, other.free() == 0; full != rest {
		return rest
	}
	if c.health != other.health {
		return other.health.Worse(c.health)
	}
	// held/capacity, without a division
	if a, b := c.held*other.capacity, other.held*c.capacity; a != b {
		return a < b
	}
	return c.asked < other.asked
}

// maxChunk bounds the steps of one request to the engine.
const maxChunk = 100

// chunk is the number of steps to request for a worker: all that a single worker can take; else a part of its free
// slots, to spread a burst evenly.
func chunk(c *candidate, rivals int) int {
	n := c.free()
	if rivals > 0 {
		n = (n + 3) / 4
	}
	return min(max(n, 1), maxChunk)
}

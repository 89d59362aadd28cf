package rabbitmq

import "github.com/taskerhq/tasker/internal/model/task"

// candidate is a worker that could be asked, as choose sees it.
type candidate struct {
	health   task.WorkerHealth
	held     int // steps that it holds, and those that it is asked for now
	capacity int
	asked    int64 // number of its last turn; the lowest is next among equals
}

func (c *candidate) free() int { return max(c.capacity-c.held, 0) }

// choose returns the place of the best worker, -1 if there is none: one with a free slot before a full one, a healthy
// one before a degraded one, then the one with the lowest load (held of capacity), then the one whose turn is longest
// ago. Unhealthy workers are left out.
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

// better reports whether c is asked before other.
func (c *candidate) better(other *candidate) bool {
	if full, rest := c.free() == 0, other.free() == 0; full != rest {
		return rest
	}
	if c.health != other.health {
		return other.health.Worse(c.health)
	}
	// held/capacity, compared without a division
	if a, b := c.held*other.capacity, other.held*c.capacity; a != b {
		return a < b
	}
	return c.asked < other.asked
}

// maxChunk bounds the steps of one request to the engine.
const maxChunk = 100

// chunk is how many steps are asked for at once on behalf of a worker. Alone it gets all that it can take. Otherwise it
// gets a part of its free slots, so that a burst that comes while all are free is spread evenly.
func chunk(c *candidate, rivals int) int {
	n := c.free()
	if rivals > 0 {
		n = (n + 3) / 4
	}
	return min(max(n, 1), maxChunk)
}

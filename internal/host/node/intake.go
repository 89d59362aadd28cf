package node

import (
	"github.com/taskerhq/tasker/internal/model/settings"
)

const maxIntakeBatch = 500

// intakeBatch returns how many messages become tasks in one transaction, within the engine's limits: a batch is
// stored as a whole, and above the limit of users never would be.
func intakeBatch(c settings.Config) int {
	n := min(maxIntakeBatch, c.Limits.BatchItems)
	for _, limit := range []int{c.Backpressure.UserBurst, c.Backpressure.UserSustained} {
		if limit > 0 {
			n = min(n, limit)
		}
	}
	return max(n, 1)
}

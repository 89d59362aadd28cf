package node

import (
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/redisqueue"
)

// encodeFailedJob writes the format of package redisqueue.
func encodeFailedJob(j *inbox.FailedJob) []byte {
	return redisqueue.JobFailure{Job: j.Job, Error: j.Error, Attempts: j.Attempts, FirstFailedAt: j.FirstFailedAt,
		LastFailedAt: j.LastFailedAt, Queue: j.Queue, ErrorType: j.ErrorType, StackTrace: j.StackTrace,
		HTTPStatus: j.HTTPStatus, ResponseBody: j.ResponseBody, RetryDelays: j.RetryDelays, Context: j.Context}.Encode()
}

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

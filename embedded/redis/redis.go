// Package redis links Redis into a program with the embedded engine: the drivers "redis-list" and "redis-stream" of
// sources, and the dispatch of ready steps through the Redis of Options.Dispatch.
//
//	import _ "github.com/taskerhq/tasker/embedded/redis"
package redis

import (
	"github.com/taskerhq/tasker/internal/broker/dispatch"
	queue "github.com/taskerhq/tasker/internal/broker/dispatch/redis"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/redis"
)

func init() {
	driver.Register("redis-list", redis.OpenLists)
	driver.Register("redis-stream", redis.OpenStreams)
	dispatch.Queues.Register(dispatch.Redis, queue.OpenQueue)
}

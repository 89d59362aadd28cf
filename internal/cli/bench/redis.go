package bench

import (
	"context"
	"crypto/rand"
	"net/url"

	"github.com/taskerhq/tasker/internal/broker/dispatch/redis"
)

// OwnPrefix gives a run its own keys, unless the URL has a prefix. Few remain after the tasks are done, and the
// next run does not find them.
func OwnPrefix(dispatch string) string {
	u, err := url.Parse(dispatch)
	if err != nil || dispatch == "" || u.Query().Has("prefix") {
		return dispatch
	}
	q := u.Query()
	q.Set("prefix", "bench-"+rand.Text()[:8])
	u.RawQuery = q.Encode()
	return u.String()
}

// RedisHere returns the process of a local Redis server.
func RedisHere(ctx context.Context, dispatch string) (pid int, ok bool) {
	if dispatch == "" {
		return 0, false
	}
	pid, err := redis.Process(ctx, dispatch)
	if err != nil {
		return 0, false
	}
	s, ok, err := statOf(pid)
	return pid, err == nil && ok && s.name == "redis-server"
}

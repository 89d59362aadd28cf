package redis_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/dispatch/redis"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

func TestDispatcher(t *testing.T) {
	t.Parallel()
	dispatchtest.Run(t, func(t testing.TB) dispatchtest.System { return shared(t) })
}

func TestLoss(t *testing.T) {
	t.Parallel()
	dispatchtest.RunLoss(t, func(t testing.TB) dispatchtest.Server { return own{redistest.Start(t)} })
}

// Persistence over a restart does not make a server trusted.
func TestLossWithPersistence(t *testing.T) {
	t.Parallel()
	dispatchtest.RunLoss(t, func(t testing.TB) dispatchtest.Server {
		return own{redistest.Start(t, "appendonly=yes", "appendfsync=everysec")}
	})
}

type system struct{ url, prefix string }

func shared(t testing.TB) system {
	t.Helper()
	url, prefix := redistest.Shared(t)
	return system{url, strings.Trim(prefix, ":")}
}

func (s system) Open(t testing.TB) engine.Dispatcher { return open(t, s.url, s.prefix) }

func open(t testing.TB, url, prefix string) *redis.Dispatcher {
	t.Helper()
	d, err := redis.Open(t.Context(), url, &redis.Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func client(t testing.TB, address string) rueidis.Client {
	t.Helper()
	option, err := rueidis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache = true
	c, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type own struct{ *redistest.Server }

func (s own) Open(t testing.TB) engine.Dispatcher { return open(t, s.URL(), "") }

func (s own) Flush(t testing.TB) {
	t.Helper()
	c := client(t, s.URL())
	if err := c.Do(context.Background(), c.B().Flushall().Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

func (s own) Restart(t testing.TB) {
	t.Helper()
	if err := s.Server.Restart(); err != nil {
		t.Fatal(err)
	}
}

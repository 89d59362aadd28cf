package scenario_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/dispatch/redis"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// TestScriptsOnRedis carries out all scripts on the reference model with a real Redis as its dispatcher: it prints what
// the store alone prints.
func TestScriptsOnRedis(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("TestScripts carries them out with a dispatcher in memory")
	}
	for _, script := range scripts(t, ".") {
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			s, reopen := once.open(t)
			server := newOnRedis(t)
			store, again := dispatched{s, server}, func() engine.Database { return dispatched{reopen(), server} }
			compare(t, script.file, script.text, run(t, script.text, store, again))
		})
	}
}

// onRedis is a Redis that outlives the processes of a test. They share a prefix.
type onRedis struct {
	t           *testing.T
	url, prefix string
}

func newOnRedis(t *testing.T) onRedis {
	url, prefix := redistest.Shared(t)
	return onRedis{t, url, strings.Trim(prefix, ":")}
}

// Open returns the dispatcher of one more process.
func (s onRedis) Open() engine.Dispatcher {
	d, err := redis.Open(s.t.Context(), s.url, &redis.Options{Prefix: s.prefix})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(d.Close)
	return d
}

package scenario_test

import (
	"os"
	"path/filepath"
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
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, reopen := once.open(t)
			server := newOnRedis(t)
			store, again := dispatched{s, server}, func() engine.Database { return dispatched{reopen(), server} }
			compare(t, file, string(src), run(t, string(src), store, again))
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
	s := onRedis{t, url, strings.Trim(prefix, ":")}
	t.Cleanup(func() { // the keys begin with a brace
		keys, err := redistest.Do(url, "KEYS", "{"+s.prefix+"}*")
		list, _ := keys.([]any)
		for _, key := range list {
			_, err = redistest.Do(url, "DEL", key.(string))
		}
		if err != nil {
			t.Error(err)
		}
	})
	return s
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

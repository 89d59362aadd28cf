package redis_test

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/dispatch/redis"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

func tell(t testing.TB, c rueidis.Client, words ...string) {
	t.Helper()
	if err := c.Do(context.Background(), c.B().Arbitrary(words...).Build()).Error(); err != nil {
		t.Fatalf("%q: %v", words, err)
	}
}

// A server's refusal is no loss: nothing has to be filled again.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{
		"OutOfMemory": {"CONFIG", "SET", "maxmemory", "1"},
		"ReadOnly":    {"REPLICAOF", "127.0.0.1", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := own{redistest.Start(t)}
			d := s.Open(t)
			fill(t, d)
			tell(t, client(t, s.URL()), words...)
			if err := d.Offer(t.Context(), someSteps(0, 1)); err == nil || errors.Is(err, engine.ErrDispatchLost) {
				t.Errorf("Offer: %v, want that it is out of reach", err)
			}
		})
	}
}

func TestEviction(t *testing.T) {
	t.Parallel()
	s := own{redistest.Start(t, "maxmemory=100mb", "maxmemory-policy=allkeys-lru")}
	if d, err := redis.Open(t.Context(), s.URL(), nil); err == nil {
		d.Close()
		t.Error("it was opened")
	}
	tell(t, client(t, s.URL()), "CONFIG", "SET", "maxmemory-policy", "noeviction")
	d := s.Open(t)
	fill(t, d)
	tell(t, client(t, s.URL()), "CONFIG", "SET", "maxmemory-policy", "allkeys-random")
	if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "maxmemory-policy") {
		t.Errorf("Check: %v", err)
	}
}

// Half of the content is gone: a call notices, and it is filled again.
func TestDeletedByHand(t *testing.T) {
	t.Parallel()
	s := shared(t)
	d := s.Open(t)
	fill(t, d)
	if err := d.Offer(t.Context(), someSteps(0, 10)); err != nil {
		t.Fatal(err)
	}
	tell(t, client(t, s.url), "DEL", "{"+s.prefix+"}:steps")
	c := []engine.Claim{{Worker: 1, Routes: tenRoutes, Capacity: 5, Until: until}}
	if _, err := d.Claim(t.Context(), c, now); !errors.Is(err, engine.ErrDispatchLost) {
		t.Errorf("Claim: %v, want %v", err, engine.ErrDispatchLost)
	}
	fill(t, d)
	if holds, err := d.Claim(t.Context(), c, now); err != nil || len(holds[0]) != 0 {
		t.Errorf("Claim: %v, %v", holds, err)
	}
}

// A server that stops costs a call its time-out, and is usable afterwards.
func TestServerStops(t *testing.T) {
	t.Parallel()
	s := own{redistest.Start(t)}
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = "timeout=100ms"
	d := open(t, u.String(), "")
	fill(t, d)
	pid := processOf(t, client(t, s.URL()))
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = d.Claim(t.Context(), []engine.Claim{{Routes: tenRoutes, Capacity: 1, Until: until}}, now)
	took := time.Since(began)
	if e := syscall.Kill(pid, syscall.SIGCONT); e != nil {
		t.Fatal(e)
	}
	if err == nil || errors.Is(err, engine.ErrDispatchLost) {
		t.Errorf("Claim: %v, want that it is out of reach", err)
	}
	if took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	await.Until(t, "the server answers", func() bool { return d.Check(t.Context()) == nil })
}

func processOf(t testing.TB, c rueidis.Client) int {
	t.Helper()
	info, err := c.Do(t.Context(), c.B().Info().Section("server").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "process_id:")
	digits, _, _ := strings.Cut(rest, "\r\n")
	pid, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// All keys of an installation are on one node of a cluster, whose run a script can read.
func TestCluster(t *testing.T) {
	t.Parallel()
	s := own{redistest.Start(t, "cluster-enabled=yes")}
	option, err := rueidis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache, option.ForceSingleClient = true, true
	node, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	tell(t, node, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	await.Until(t, "the cluster serves", func() bool {
		info, err := node.Do(t.Context(), node.B().ClusterInfo().Build()).ToString()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	})
	var n atomic.Int64
	dispatchtest.Run(t, func(testing.TB) dispatchtest.System {
		return system{s.URL(), "n" + strconv.FormatInt(n.Add(1), 10)}
	})
}

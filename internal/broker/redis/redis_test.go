package redis_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/redis"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

func TestMain(m *testing.M) {
	// rueidis refreshes its view of servers at most once a second, and sleeps for the rest of it.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// The permissions in docs/guides/redis.md, for queues whose names begin with q:.
const (
	listACL = "on >secret resetkeys ~q:* ~tasker:{q:*}:* resetchannels -@all +ping +eval +evalsha +llen +lrange " +
		"+blmove +time +lpop +rpop +lpush +rpush +hset +hget +hkeys +hdel +exists +zadd +zrem +zscore " +
		"+zrangebyscore +zremrangebyscore +pexpire"
	streamACL = "on >secret resetkeys ~q:* ~tasker:{q:*}:sent resetchannels -@all +ping +eval +evalsha +time +exists " +
		"+xlen +xrange +xread +xreadgroup +xpending +xclaim +xack +xdel +xadd +xinfo|stream +xinfo|groups " +
		"+xinfo|consumers +xgroup|create +xgroup|delconsumer +zadd +zrem +zremrangebyscore +pexpire"
)

// server starts a persistent server, with a user for each kind.
func server(t testing.TB) *redistest.Server {
	t.Helper()
	return redistest.Start(t, "save=3600 1", "user=lists "+listACL, "user=streams "+streamACL)
}

func as(t testing.TB, s *redistest.Server, user, parameters string) string {
	t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.RawQuery = url.UserPassword(user, "secret"), parameters
	return u.String()
}

// must runs a command as the owner of the server.
func must(t testing.TB, s *redistest.Server, command ...string) any {
	t.Helper()
	answer, err := redistest.Do(s.URL(), command...)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(command, " "), err)
	}
	return answer
}

var queues atomic.Int64

func newList(testing.TB) string { return fmt.Sprintf("q:%d", queues.Add(1)) }

func newStream(t testing.TB, s *redistest.Server) string {
	t.Helper()
	name := newList(t)
	must(t, s, "XGROUP", "CREATE", name, "first", "$", "MKSTREAM")
	must(t, s, "XGROUP", "DESTROY", name, "first")
	return name
}

// dropped removes a queue after the test: the messages are large.
func dropped(t testing.TB, s *redistest.Server, queue string) string {
	t.Cleanup(func() { must(t, s, "UNLINK", queue) })
	return queue
}

// cut ends all connections of the drivers' users.
func cut(s *redistest.Server) func(*testing.T) {
	return func(t *testing.T) {
		must(t, s, "CLIENT", "KILL", "USER", "lists")
		must(t, s, "CLIENT", "KILL", "USER", "streams")
	}
}

// The other end of a list, and removed entries, take the same paths: a short run tests the first of each kind.
func TestConformance(t *testing.T) {
	s := server(t)
	host, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	memory := func(n string) func(*testing.T, string) {
		return func(t *testing.T, _ string) { must(t, s, "CONFIG", "SET", "maxmemory", n) }
	}
	common := brokertest.Broker{Cut: cut(s), Network: brokertest.NewNetwork(t, host.Host), Forbidden: "forbidden",
		Refuse: memory("1"), Accept: memory("0"),
		Stop: func(t *testing.T) {
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
		},
		Start: func(t *testing.T) {
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
		}}
	for name, parameters := range map[string]string{"ListFromLeft": "gone=1s", "ListFromRight": "gone=1s&head=right"} {
		t.Run(name, func(t *testing.T) {
			b := common
			b.MaxPayload = payloadOf(t, parameters)
			b.Open, b.URL = redis.OpenLists, as(t, s, "lists", parameters)
			b.NetworkURL = b.Network.URL(t, b.URL)
			b.NewQueue = func(t *testing.T) string { return dropped(t, s, newList(t)) }
			b.Missing, b.NoMissing = "q:missing", true
			b.NoHeaders, b.NoKeys, b.NoMessageIDs, b.NoMark, b.NewPositions = true, true, true, true, true
			brokertest.Run(t, b)
		})
	}
	for name, parameters := range map[string]string{"Stream": "gone=1s",
		"StreamRemoved": "gone=1s&acknowledged=removed&payload=data&group=mine"} {
		t.Run(name, func(t *testing.T) {
			b := common
			b.MaxPayload = payloadOf(t, parameters)
			b.Open, b.URL = redis.OpenStreams, as(t, s, "streams", parameters)
			b.NetworkURL = b.Network.URL(t, b.URL)
			b.Delete = func(t *testing.T, queue string) { must(t, s, "DEL", queue) }
			b.NewQueue = func(t *testing.T) string { return dropped(t, s, newStream(t, s)) }
			b.Missing, b.Own = "q:missing", "redis-"
			brokertest.Run(t, b)
		})
	}
}

// payloadOf returns the size of a variant's messages: the largest only in the plain one.
func payloadOf(t *testing.T, parameters string) int {
	if !strings.Contains(parameters, "&") {
		return 10 << 20
	}
	if testing.Short() {
		t.Skip("a variant")
	}
	return 1 << 20
}

func open(t testing.TB, f driver.OpenFunc, url string) driver.Driver {
	t.Helper()
	d, err := f(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

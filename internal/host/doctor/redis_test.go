package doctor_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

func with(t *testing.T, dsn string, sources ...*deadletter.Source) string {
	t.Helper()
	n, err := node.Open(t.Context(), dsn, node.Options{Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return dsn
}

func list(url string) *deadletter.Source {
	return &deadletter.Source{Namespace: "default", Name: "detection", Driver: "redis-list", URL: url,
		Queue: "dlq:detection_queue"}
}

func stream(url string) *deadletter.Source {
	return &deadletter.Source{Namespace: "default", Name: "billing", Driver: "redis-stream", URL: url,
		Queue: "billing:dead", Targets: []string{"billing", "other-*"}}
}

func do(t *testing.T, s *redistest.Server, words ...string) {
	t.Helper()
	if _, err := redistest.Do(s.URL(), words...); err != nil {
		t.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
}

func sqliteIn(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "tasker.db") }

func as(t *testing.T, s *redistest.Server, user string) string {
	t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, "secret")
	return u.String()
}

// TestRedisHealthy: a server configured as documented causes no findings, and without a source there are no checks.
func TestRedisHealthy(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "appendonly=yes", "maxmemory=1gb")
	do(t, s, "XADD", "billing:dead", "*", "payload", "{}", "x-death", "1")
	do(t, s, "DEL", "billing:dead")
	for name, dsn := range map[string]string{"SQLite": sqliteIn(t), "PostgreSQL": pgtest.DSN(t)} {
		with(t, dsn, list(s.URL()), stream(s.URL()))
		r := examine(t, dsn, doctor.Options{})
		for _, c := range r.Checks {
			if strings.HasPrefix(c.Name, "redis") && c.Status != doctor.OK {
				t.Errorf("%s: %+v", name, c)
			}
		}
		for _, check := range []string{"redis_role", "redis_eviction", "redis_memory", "redis_persistence",
			"redis_permissions", "redis_orphans", "redis_formats"} {
			wantCheck(t, r, check, doctor.OK, "")
		}
	}
	if r := examine(t, newFile(t), doctor.Options{}); strings.Contains(show(r), "edis") {
		t.Errorf("without a source:\n%s", show(r))
	}
}

func TestRedisFindings(t *testing.T) {
	t.Parallel()
	type finding struct {
		name   string
		status doctor.Status
		says   string
	}
	for name, tc := range map[string]struct {
		settings []string
		prepare  [][]string
		want     []finding
	}{
		"NothingOnDisk": {nil, nil, []finding{{"redis_persistence", doctor.Fail, "neither appendonly nor save"},
			{"redis_eviction", doctor.OK, "evicts nothing"}}},
		"SnapshotsOnly": {[]string{"save=3600 1"}, nil, []finding{{"redis_persistence", doctor.OK, "save 3600 1"}}},
		"Evicts": {[]string{"maxmemory-policy=allkeys-lru", "maxmemory=1gb"}, nil,
			[]finding{{"redis_eviction", doctor.Fail, "allkeys-lru"}}},
		"WouldEvict": {[]string{"maxmemory-policy=volatile-ttl"}, nil,
			[]finding{{"redis_eviction", doctor.Warn, "volatile-ttl"}}},
		"MemoryFull": {nil, [][]string{{"CONFIG", "SET", "maxmemory", "1"}},
			[]finding{{"redis_memory", doctor.Fail, "of 1 bytes"}}},
		"UnknownForm": {nil, [][]string{{"RPUSH", "dlq:detection_queue", "no JSON", `{"original_job":1,"error":"e","queue_name":"q"}`}},
			[]finding{{"redis_formats", doctor.Warn, "of the first 2 messages that wait in source detection (default) 1 are"}}},
		"NoList": {nil, [][]string{{"SET", "dlq:detection_queue", "x"}},
			[]finding{{"redis_formats", doctor.Warn, "cannot be seen"}}},
		"ReaderGone": {nil, [][]string{{"ZADD", "tasker:{dlq:detection_queue}:receivers", "1000", "gone"},
			{"HSET", "tasker:{dlq:detection_queue}:held:gone", "1", "a", "2", "b"}},
			[]finding{{"redis_orphans", doctor.Warn, "2 messages of source detection (default) are held by a reader"}}},
		"ConsumerGone": {nil, [][]string{{"ZADD", "tasker:{detection_queue}:consumers", "1000", "gone"},
			{"ZADD", "tasker:{detection_queue}:consumers", "9999999999999", "alive"},
			{"RPUSH", "tasker:{detection_queue}:processing:gone", "1", "2", "3"},
			{"RPUSH", "tasker:{detection_queue}:processing:alive", "1"}},
			[]finding{{"redis_orphans", doctor.Warn, "3 jobs of detection_queue are held by a consumer that is gone"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, tc.settings...)
			for _, words := range tc.prepare {
				do(t, s, words...)
			}
			r := examine(t, with(t, sqliteIn(t), list(s.URL())), doctor.Options{})
			for _, f := range tc.want {
				wantCheck(t, r, f.name, f.status, f.says)
			}
		})
	}
}

// TestRedisIntake: messages that become tasks are jobs of any form.
func TestRedisIntake(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	do(t, s, "RPUSH", "jobs", "no JSON")
	source := &deadletter.Source{Namespace: "default", Name: "jobs", Driver: "redis-list", URL: s.URL(), Queue: "jobs",
		Intake: &deadletter.Intake{TaskType: "work"}}
	r := examine(t, with(t, sqliteIn(t), source), doctor.Options{})
	wantCheck(t, r, "redis_orphans", doctor.OK, "")
	if strings.Contains(show(r), "redis_formats") {
		t.Errorf("jobs are taken for failures:\n%s", show(r))
	}
}

func TestRedisStreamOrphans(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	do(t, s, "XADD", "billing:dead", "1-1", "payload", "x")
	do(t, s, "XGROUP", "CREATE", "billing:dead", "tasker", "0")
	do(t, s, "XREADGROUP", "GROUP", "tasker", "gone", "STREAMS", "billing:dead", ">")
	do(t, s, "XCLAIM", "billing:dead", "tasker", "gone", "0", "1-1", "IDLE", "600000", "JUSTID")
	r := examine(t, with(t, sqliteIn(t), stream(s.URL())), doctor.Options{})
	wantCheck(t, r, "redis_orphans", doctor.Warn, "1 messages of source billing (default) are held by a reader")
}

func TestRedisReplica(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Start(t), redistest.Start(t)
	do(t, replica, "REPLICAOF", "127.0.0.1", fmt.Sprint(master.Port()))
	r := examine(t, with(t, sqliteIn(t), list(replica.URL())), doctor.Options{})
	wantCheck(t, r, "redis_role", doctor.Fail, "is a replica")
}

// TestRedisPermissions: a user with the documented rights cannot read the configuration, which is reported but
// fails nothing; missing rights are named, and passwords are hidden.
func TestRedisPermissions(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rules := []string{"on", ">secret", "resetkeys", "~dlq:detection_queue", "~tasker:{dlq:detection_queue}:*",
		"~detection_queue", "~tasker:{detection_queue}:*", "resetchannels", "-@all", "+ping", "+eval", "+evalsha", "+llen",
		"+lrange", "+blmove", "+time", "+lpop", "+rpop", "+lpush", "+rpush", "+hset", "+hget", "+hkeys", "+hdel",
		"+exists", "+zadd", "+zrem", "+zscore", "+zrangebyscore", "+zremrangebyscore", "+pexpire"}
	look := func(user string, more ...string) *doctor.Report {
		t.Helper()
		do(t, s, append(append([]string{"ACL", "SETUSER", user, "reset"}, rules...), more...)...)
		r := examine(t, with(t, sqliteIn(t), list(as(t, s, user))), doctor.Options{})
		if strings.Contains(show(r), "secret") {
			t.Errorf("the report shows the password:\n%s", show(r))
		}
		return r
	}
	r := look("least")
	wantCheck(t, r, "redis_server", doctor.Warn, "cannot be seen")
	wantCheck(t, r, "redis_permissions", doctor.OK, "has all that it needs")
	wantCheck(t, r, "redis_orphans", doctor.OK, "")
	r = look("info", "+info")
	wantCheck(t, r, "redis_persistence", doctor.Warn, "whether it makes snapshots cannot be seen")
	r = look("less", "-blmove", "-rpush")
	wantCheck(t, r, "redis_permissions", doctor.Fail,
		"may not run BLMOVE on dlq:detection_queue, RPUSH on detection_queue")
	r = look("nothing", "-@all", "+ping")
	wantCheck(t, r, "redis_permissions", doctor.Fail, "cannot be seen")
	wantCheck(t, r, "redis_orphans", doctor.Warn, "cannot be seen")
	wantCheck(t, r, "redis_formats", doctor.Warn, "cannot be seen")
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := examine(t, with(t, sqliteIn(t), list(as(t, s, "nobody"))), doctor.Options{})
	wantCheck(t, r, "redis", doctor.Fail, "the Redis of source detection (default) cannot be used")
	if strings.Contains(show(r), "secret") {
		t.Errorf("the report shows the password:\n%s", show(r))
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	r = examine(t, with(t, sqliteIn(t), list(s.URL()+"?timeout=500ms")), doctor.Options{})
	wantCheck(t, r, "redis", doctor.Fail, "cannot be used")
}

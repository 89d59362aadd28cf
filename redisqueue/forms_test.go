package redisqueue_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redisurl"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

func through(t testing.TB, text, queue string) server {
	t.Helper()
	target, err := redisurl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	target.Option.DisableCache = true
	target.Option.Dialer.Timeout = time.Second
	client, err := rueidis.NewClient(target.Option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return server{t, text, client, queue}
}

// With a hash tag all keys of a queue are on one node. Without one, each call is refused with a hint, and no job is
// touched.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := through(t, cluster.URL(), "{jobs}:in")
	if s.client.Mode() != rueidis.ClientModeCluster {
		t.Fatal("the client sees no cluster")
	}
	q := s.newQueue(redisqueue.QueueOptions{MaxSize: 2})
	for _, job := range []string{"1", "2", "3"} {
		if _, err := q.Push(t.Context(), []byte(job)); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := q.Status(t.Context()); err != nil || st.Depth != 2 || st.OverflowDepth != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	s.crash(1)
	c := s.run(redisqueue.ConsumerOptions{HandlerOptions: redisqueue.HandlerOptions{Clock: newSkip(), Retry: once},
		Handler: func(_ context.Context, job redisqueue.Job) (any, error) {
			if string(job.Payload) == "3" {
				return nil, errDown
			}
			return nil, nil
		}})
	await.Until(t, "both jobs are settled", func() bool { return c.Stats().Succeeded == 1 && c.Stats().Failed == 1 })
	c.stop()
	if !s.idle() || c.Stats().TakenOver != 1 {
		t.Errorf("%+v", c.Stats())
	}
	for _, queue := range []string{s.queue, redisqueue.DLQOverflowName(s.queue)} {
		if _, ok, err := s.newDLQ(queue).RequeueOldest(t.Context(), ""); !ok || err != nil {
			t.Errorf("requeue from %s: %t, %v", queue, ok, err)
		}
	}
	if got := s.list(s.queue); !slices.Equal(got, []string{"3", "1"}) {
		t.Errorf("the queue has %q", got)
	}
	clusterRefuses(t, cluster.URL())
}

func clusterRefuses(t *testing.T, url string) {
	s := through(t, url, "plain")
	letters := s.deadLetters(redisqueue.DeadLetterOptions{})
	_, consumer := redisqueue.NewConsumer(redisqueue.ConsumerOptions{Client: s.client, Queue: "plain",
		HandlerOptions: redisqueue.HandlerOptions{Letters: letters},
		Handler:        func(context.Context, redisqueue.Job) (any, error) { return nil, nil }})
	_, queue := redisqueue.NewQueue(redisqueue.QueueOptions{Client: s.client, Name: "plain"})
	_, dlq := redisqueue.NewDLQ(redisqueue.DLQOptions{Client: s.client, Queue: "plain"})
	tagged := s.newDLQ("{jobs}:in")
	s.do("RPUSH", "dlq:{jobs}:in", `{"original_job":1,"error":"e","queue_name":"plain"}`)
	for what, err := range map[string]error{"NewConsumer": consumer, "NewQueue": queue, "NewDLQ": dlq,
		"Write":   letters.Write(t.Context(), redisqueue.JobFailure{Job: []byte("1"), Error: "e", Queue: "plain"}),
		"Requeue": tagged.Requeue(t.Context(), s.entries(tagged)[0], "")} {
		if err == nil || !strings.Contains(err.Error(), "hash tag") {
			t.Errorf("%s: %v", what, err)
		}
	}
	r := s.handler(redisqueue.HandlerOptions{Letters: letters, Retry: once}).Do(t.Context(), "plain", nil, fails)
	if r.MovedToDLQ || r.Err == nil || !strings.Contains(r.Error, "hash tag") {
		t.Errorf("%+v", r)
	}
	if st := letters.Status(); st.SpoolLetters != 0 || len(s.entries(tagged)) != 1 {
		t.Errorf("%+v", st)
	}
}

// A consumer and its dead letters follow a failover. Jobs known to the new master run once more at most and are never
// lost.
func TestSentinel(t *testing.T) {
	if testing.Short() {
		t.Skip("a failover takes seconds")
	}
	t.Parallel()
	settings := []string{"user=sentinel on >secret ~* &* +@all", "masteruser=sentinel", "masterauth=secret",
		"repl-diskless-sync-delay=0"}
	master := redistest.Start(t, settings...)
	replica := redistest.Start(t, append(settings, fmt.Sprintf("replicaof=127.0.0.1 %d", master.Port()))...)
	watch := redistest.StartSentinel(t, master, "sentinel", "secret")
	u, err := url.Parse(watch.URL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	u.User, u.RawQuery = url.UserPassword("sentinel", "secret"), "master_set=main&sentinel_password="+password
	await.Until(t, "the Sentinel knows the replica", func() bool {
		answer, err := redistest.Do(watch.URL(), "SENTINEL", "REPLICAS", "main")
		return err == nil && strings.Contains(fmt.Sprint(answer), "master-link-status ok")
	})
	s := through(t, u.String(), "jobs")
	for i := range 20 {
		s.push(fmt.Sprint(i))
	}
	var mu sync.Mutex
	done, gate := map[string]bool{}, make(chan struct{})
	c := s.run(redisqueue.ConsumerOptions{Concurrency: 4, HandlerOptions: redisqueue.HandlerOptions{Retry: once},
		Handler: func(_ context.Context, job redisqueue.Job) (any, error) {
			<-gate
			mu.Lock()
			defer mu.Unlock()
			done[string(job.Payload)] = true
			if len(job.Payload) == 2 { // from 10 on
				return nil, errDown
			}
			return nil, nil
		}})
	await.Until(t, "jobs are taken", func() bool { return c.Stats().Held > 0 })
	if _, err := redistest.Do(master.URL(), "WAIT", "1", "5000"); err != nil {
		t.Fatal(err)
	}
	if err := master.Kill(); err != nil {
		t.Fatal(err)
	}
	close(gate) // running jobs end while there is no master
	await.Until(t, "the replica becomes the master", func() bool {
		answer, err := redistest.Do(replica.URL(), "ROLE")
		return err == nil && strings.HasPrefix(fmt.Sprint(answer), "[master")
	})
	await.Until(t, "all are settled on the new master", func() bool {
		n, err := redistest.Do(replica.URL(), "LLEN", "dlq:jobs")
		mu.Lock()
		defer mu.Unlock()
		return err == nil && n == int64(10) && len(done) == 20 && c.Stats().Held == 0
	})
}

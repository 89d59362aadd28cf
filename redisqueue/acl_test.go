package redisqueue_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

// The permissions listed in docs/guides/redis-queues.md suffice for everything.
func TestPermissions(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/guides/redis-queues.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile("(?s)```\n(~Q .*?)```").FindSubmatch(doc)
	if rules == nil {
		t.Fatal("the document lists no permissions")
	}
	own := redistest.Start(t)
	admin := connect(t, own.URL(), "jobs")
	words := strings.Fields(regexp.MustCompile(`\bQ\b`).ReplaceAllString(string(rules[1]), "jobs"))
	admin.do(append([]string{"ACL", "SETUSER", "app", "reset", "on", ">secret"}, words...)...)
	u, err := url.Parse(own.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("app", "secret")
	s := connect(t, u.String(), "jobs")

	q := s.newQueue(redisqueue.QueueOptions{MaxSize: 2})
	if r, err := q.Push(t.Context(), jobs("1", "2")...); err != nil {
		t.Fatal(r, err)
	}
	if r, err := q.Push(t.Context(), jobs("3")...); err != nil || r.MovedToDLQCount != 1 {
		t.Fatal(r, err)
	}
	admin.crash(1)
	c := s.run(redisqueue.ConsumerOptions{
		HandlerOptions: redisqueue.HandlerOptions{Clock: newSkip(), ContextQueues: []string{"jobs"}},
		Handler: func(ctx context.Context, job redisqueue.Job) (any, error) {
			if string(job.Payload) == "3" {
				return fails(ctx)
			}
			return nil, nil
		},
	})
	await.Until(t, "all settled", func() bool { return c.Stats().Succeeded == 1 && c.Stats().Failed == 1 })
	c.stop()
	if !admin.idle() || len(admin.dlq()) != 1 || c.Stats().TakenOver != 1 {
		t.Errorf("%+v, letters %q", c.Stats(), admin.dlq())
	}
	dlq := s.newDLQ("jobs")
	for _, call := range []func() error{
		func() error { _, err := dlq.Len(t.Context()); return err },
		func() error { _, _, err := dlq.RequeueOldest(t.Context(), ""); return err },
		func() error { _, err := dlq.Clear(t.Context()); return err },
		func() error { return dlq.Remove(t.Context(), redisqueue.Entry{Raw: []byte("x")}) },
		func() error { _, err := q.Status(t.Context()); return err },
	} {
		if err := call(); err != nil && !errors.Is(err, redisqueue.ErrNoEntry) {
			t.Error(err)
		}
	}
	if denied := admin.do("ACL", "LOG"); len(denied.String()) > 0 && strings.Contains(denied.String(), "jobs") {
		t.Errorf("refused: %s", denied.String())
	}
}

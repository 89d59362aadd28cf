package carrier_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/rabbitmq"
	"github.com/taskerhq/tasker/internal/broker/redis"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// A message put into a queue is visible immediately, even while a node has taken it and not yet stored it.
func TestPushAndAsk(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (string, driver.OpenFunc){
		"redis-list":   func(t *testing.T) (string, driver.OpenFunc) { return redistest.Start(t).URL(), redis.OpenLists },
		"redis-stream": func(t *testing.T) (string, driver.OpenFunc) { return redistest.Start(t).URL(), redis.OpenStreams },
		"rabbitmq": func(t *testing.T) (string, driver.OpenFunc) {
			url := rabbittest.NewVhost(t, rabbittest.Shared(t))
			rabbittest.Manage(t, url, http.MethodPut, "/api/queues/{vhost}/dlq", map[string]any{"durable": true})
			return url, rabbitmq.Open
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, dial := open(t)
			pushAndAsk(t, name, url, dial)
		})
	}
}

func pushAndAsk(t *testing.T, name, url string, dial driver.OpenFunc) {
	const queue = "dlq"
	if name == "redis-stream" {
		if _, err := redistest.Do(url, "XGROUP", "CREATE", queue, "tasker", "$", "MKSTREAM"); err != nil {
			t.Fatal(err)
		}
	}
	d, err := dial(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := carrier.New(driver.Registry{name: dial}, name)
	n, err := node.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"),
		node.Options{Carriers: map[string]inbox.Carrier{name: c}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_, _ = c.Close(), n.Close()
	}()
	in := n.Inbox()
	if _, err := in.SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "dead", Driver: name, URL: url,
		Queue: queue, MaxReplays: 5}, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	q, err := in.FindQueue(t.Context(), "default", "dead")
	if err != nil {
		t.Fatal(err)
	}
	seen := func() int {
		_, total, err := in.QueueLetters(t.Context(), q, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return total
	}
	push := func(i int) {
		sent := d.Send(t.Context(), queue, []driver.Message{{Payload: fmt.Append(nil, i)}}, driver.Limits{})
		if err := errors.Join(sent...); err != nil {
			t.Fatal(err)
		}
	}
	push(0)
	await.Until(t, "the source is read", func() bool { return seen() == 1 })
	for i := 1; i <= 50; i++ {
		push(i)
		if got := seen(); got != i+1 {
			t.Fatalf("right after message %d there are %d letters", i, got-1)
		}
		queues, err := in.Queues(t.Context(), "default")
		if err != nil || queues[0].Depth() < int64(i+1) {
			t.Fatalf("right after message %d the queue has %+v, %v", i, queues, err)
		}
	}
}

package carrier_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/broker/post"
	"github.com/taskerhq/tasker/internal/broker/rabbitmq"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

// notebook is a driver that notes the IDs of sends and loses answers.
type notebook struct {
	driver.Driver
	ids  []string
	lose int
}

func (n *notebook) Send(_ context.Context, _ string, messages []driver.Message, _ driver.Limits) []error {
	for _, m := range messages {
		n.ids = append(n.ids, m.SendID)
	}
	if n.lose > 0 {
		n.lose--
		return driver.Fail(len(messages), driver.ErrRepeatable)
	}
	return nil
}

func (n *notebook) Close() error { return nil }

func TestEachSendHasAnID(t *testing.T) {
	n := &notebook{lose: 1}
	dial := func(context.Context, string) (driver.Driver, error) { return n, nil }
	c := carrier.New(driver.Registry{"note": dial}, "note")
	defer c.Close()
	for _, id := range []string{"one", "two"} {
		out := []seam.Outgoing{{Letter: &deadletter.Letter{ID: task.ID{1}}, SendID: id}}
		err := c.Send(t.Context(), &deadletter.Source{}, "q", out)[0]
		if err != nil && !errors.Is(err, seam.ErrRepeated) {
			t.Fatal(err)
		}
	}
	if got := strings.Join(n.ids, " "); got != "one one two" {
		t.Errorf("sent as %s", got)
	}
}

// The broker may have forgotten the first try.
func TestRepeatedSendIsReported(t *testing.T) {
	n := &notebook{lose: 1}
	dial := func(context.Context, string) (driver.Driver, error) { return n, nil }
	c := carrier.New(driver.Registry{"note": dial}, "note")
	defer c.Close()
	for _, again := range []bool{true, false} {
		errs := c.Send(t.Context(), &deadletter.Source{}, "q", []seam.Outgoing{{Letter: &deadletter.Letter{ID: task.ID{1}}}})
		if errors.Is(errs[0], seam.ErrRepeated) != again || !again && errs[0] != nil {
			t.Errorf("repeated %t: %v", again, errs[0])
		}
	}
	if len(n.ids) != 3 {
		t.Errorf("it was sent %d times", len(n.ids))
	}
}

// A slow endpoint gets the letters for which the turn has time: none is cut off, and none that was not begun is
// charged.
func TestSlowEndpoint(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Second):
			served.Add(1)
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	c := carrier.New(driver.Registry{"http": post.Dial}, "http")
	defer c.Close()
	letters := make([]seam.Outgoing, 500)
	for i := range letters {
		letters[i].Letter = &deadletter.Letter{ID: task.ID{byte(i), byte(i >> 8)}}
	}
	turn, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	delivered, waiting := int64(0), 0
	for i, err := range c.Send(turn, &deadletter.Source{Driver: "http"}, server.URL, letters) {
		switch {
		case err == nil:
			delivered++
		case errors.Is(err, seam.ErrNotTried):
			waiting++
		default:
			t.Fatalf("letter %d: %v", i, err)
		}
	}
	if delivered < 8 || waiting == 0 || delivered != served.Load() {
		t.Errorf("%d delivered, %d not tried; the endpoint has served %d", delivered, waiting, served.Load())
	}
}

// A batch of large letters that exceeds the turn leaves no unknown outcome.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*testing.T) (url, to string){
		"rabbitmq": func(t *testing.T) (url, to string) {
			url = rabbittest.NewVhost(t, rabbittest.Shared(t))
			rabbittest.Manage(t, url, http.MethodPut, "/api/queues/{vhost}/orders", map[string]any{"durable": true})
			return url, "orders"
		},
		"kafka": func(t *testing.T) (url, to string) {
			url = kafkatest.Shared(t)
			return url, kafkatest.NewTopic(t, url, 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, to := of(t)
			c := carrier.New(driver.Registry{"rabbitmq": rabbitmq.Open, "kafka": kafka.Open}, name)
			defer c.Close()
			letters := make([]seam.Outgoing, 500)
			for i := range letters {
				letters[i].Letter = &deadletter.Letter{ID: task.ID{byte(i), byte(i >> 8)}}
				letters[i].Content.Payload = make([]byte, 256<<10)
				_, _ = rand.Read(letters[i].Content.Payload)
			}
			turn, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			delivered, waiting := 0, 0
			for i, err := range c.Send(turn, &deadletter.Source{URL: url, Driver: name, Queue: to}, to, letters) {
				switch {
				case err == nil:
					delivered++
				case errors.Is(err, seam.ErrNotTried):
					waiting++
				default:
					t.Fatalf("letter %d: %v", i, err)
				}
			}
			t.Logf("%d delivered, %d not tried", delivered, waiting)
			if delivered == 0 {
				t.Error("none was delivered")
			}
		})
	}
}

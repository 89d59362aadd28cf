package rabbitmq_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/rabbitmq"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// broker is the server's side of a queue.
type broker struct {
	t       *testing.T
	conn    *amqp091.Connection
	channel *amqp091.Channel
	worker  uuid.UUID
	queue   string
}

// connect declares the queue of a worker, like the server.
func connect(t *testing.T, url string) *broker {
	t.Helper()
	b := &broker{t: t, worker: uuid.New()}
	b.queue = "worker." + b.worker.String() + ".executions"
	b.dial(url)
	b.declare()
	return b
}

func (b *broker) dial(url string) {
	b.t.Helper()
	var err error
	if b.conn, err = amqp091.Dial(url); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = b.conn.Close() })
	if b.channel, err = b.conn.Channel(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *broker) declare() {
	b.t.Helper()
	args := amqp091.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": b.queue + ".dead"}
	for name, args := range map[string]amqp091.Table{b.queue: args, b.queue + ".dead": nil} {
		if _, err := b.channel.QueueDeclare(name, true, false, false, false, args); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *broker) message(token string) amqp091.Publishing {
	a := protocol.Assignment{StepUUID: uuid.New(), TaskUUID: uuid.New(), Token: token, Handler: "h", StepName: "h",
		Attempt: 1, Parameters: json.RawMessage(`{"n":1}`)}
	body, err := json.Marshal(a)
	if err != nil {
		b.t.Fatal(err)
	}
	return amqp091.Publishing{ContentType: "application/json", Type: "tasker.step", MessageId: a.StepUUID.String() + ".1",
		DeliveryMode: amqp091.Persistent, Headers: amqp091.Table{"tasker-worker": b.worker.String()}, Body: body}
}

func (b *broker) send(messages ...amqp091.Publishing) {
	b.t.Helper()
	for _, m := range messages {
		if err := b.channel.PublishWithContext(b.t.Context(), "", b.queue, true, false, m); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *broker) waiting(queue string) int {
	b.t.Helper()
	q, err := b.channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return q.Messages
}

type receiver struct {
	t     *testing.T
	stop  context.CancelFunc
	ended chan struct{}
	came  chan worker.Delivery
	log   *lockedBuffer
}

// receive starts a Receive, which ends with the test at the latest.
func (b *broker) receive(url string, prefetch int, opts rabbitmq.Options) *receiver {
	b.t.Helper()
	ctx, stop := context.WithCancel(b.t.Context())
	r := &receiver{t: b.t, stop: stop, ended: make(chan struct{}), came: make(chan worker.Delivery, 100),
		log: &lockedBuffer{}}
	transport := rabbitmq.NewTransport(url, opts)
	go func() {
		defer close(r.ended)
		transport.Receive(ctx, worker.Subscription{WorkerID: b.worker, Queue: b.queue, Prefetch: prefetch,
			Logger: slog.New(slog.NewTextHandler(r.log, nil)), Deliver: func(d worker.Delivery) { r.came <- d }})
	}()
	b.t.Cleanup(func() {
		stop()
		r.wait()
	})
	return r
}

// next returns the next delivery, which must have this token.
func (r *receiver) next(token string) worker.Delivery {
	r.t.Helper()
	select {
	case d := <-r.came:
		if d.Assignment.Token != token {
			r.t.Fatalf("token %q came, want %q", d.Assignment.Token, token)
		}
		return d
	case <-time.After(patience):
		r.t.Fatalf("token %q did not come; the log:\n%s", token, r.log)
	}
	panic("unreachable")
}

func (r *receiver) nothing() {
	r.t.Helper()
	select {
	case d := <-r.came:
		r.t.Errorf("token %q came, want nothing", d.Assignment.Token)
	default:
	}
}

func (r *receiver) wait() {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Error("Receive does not return")
	}
}

// leaves stops the receiver and counts the messages: unacknowledged ones are back in the queue.
func (r *receiver) leaves(b *broker, want int) {
	r.t.Helper()
	r.stop()
	r.wait()
	if n := b.waiting(b.queue); n != want {
		r.t.Errorf("%d messages are left, want %d", n, want)
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func withPassword(t *testing.T, base, password string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String()
}

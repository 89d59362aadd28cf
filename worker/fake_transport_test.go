package worker_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// fakeTransport is a Transport without a broker: a test sends messages and reads the answers.
type fakeTransport struct {
	check error

	mu            sync.Mutex
	subscriptions []worker.Subscription
	answers       map[string][]string
	open          int
	changed       chan struct{} // closed and replaced when open falls
}

func newFakeTransport() *fakeTransport {
	return &fakeTransport{answers: map[string][]string{}, changed: make(chan struct{})}
}

func (f *fakeTransport) Name() string { return protocol.TransportAMQP }

func (f *fakeTransport) Check(context.Context, *slog.Logger) error { return f.check }

// Receive returns only when every delivery has its answer.
func (f *fakeTransport) Receive(ctx context.Context, in worker.Subscription) {
	f.mu.Lock()
	f.subscriptions = append(f.subscriptions, in)
	f.mu.Unlock()
	<-ctx.Done()
	for {
		f.mu.Lock()
		open, changed := f.open, f.changed
		f.mu.Unlock()
		if open == 0 {
			return
		}
		<-changed
	}
}

// send delivers step to the latest Receive.
func (f *fakeTransport) send(steps ...protocol.Assignment) {
	f.mu.Lock()
	in := f.subscriptions[len(f.subscriptions)-1]
	f.open += len(steps)
	f.mu.Unlock()
	for _, s := range steps {
		answer := func(how string) func() {
			return func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.answers[s.Token] = append(f.answers[s.Token], how)
				f.open--
				close(f.changed)
				f.changed = make(chan struct{})
			}
		}
		in.Deliver(worker.Delivery{Assignment: s, Ack: answer("ack"), Release: answer("release"), Reject: answer("reject")})
	}
}

// of returns the answers to the messages with this token, in order.
func (f *fakeTransport) of(token string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.answers[token])
}

func (f *fakeTransport) received() []worker.Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.subscriptions)
}

func sent(handler, token string) protocol.Assignment {
	s := step(handler)
	s.Token, s.State = token, tasker.StepState("assigned")
	return s
}

func withQueue(f *fake) *fake {
	f.self.Queue = "worker." + uuid.NewString() + ".executions"
	return f
}

package worker

import (
	"context"
	"log/slog"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/worker/protocol"
)

// Transport brings a worker its steps in messages of a broker instead of polls; see Options and package rabbitmq. The
// worker starts and settles steps through the Backend, so a message only announces a lease, and may be lost, late or
// repeated without harm.
//
// Workers may share a Transport: its methods must be safe for concurrent use.
type Transport interface {
	Name() string
	// Check connects to the broker once and disconnects. It retries and logs while the broker is unavailable, and
	// returns an error when the broker refuses the credentials, the settings are wrong, or ctx ends.
	Check(ctx context.Context, log *slog.Logger) error
	// Receive consumes the queue and passes each message to sub.Deliver until ctx ends. It reconnects after growing
	// pauses and waits for a missing queue. After ctx has ended it takes no more messages, and returns when each
	// delivery has its answer or the connection is lost.
	Receive(ctx context.Context, sub Subscription)
}

// Subscription is the queue that a Transport consumes for a worker.
type Subscription struct {
	// WorkerID is the worker. A message for another one is rejected, not delivered.
	WorkerID uuid.UUID
	// Queue is the name from the answer to the registration.
	Queue string
	// Prefetch bounds the deliveries without an answer.
	Prefetch int
	// Deliver takes one delivery over. It does not block, and is safe for concurrent use. Pass repeated messages too.
	Deliver func(Delivery)
	Logger  *slog.Logger
}

// Delivery is one message with a step for the worker, which gives it one answer. Answers do not block. The Transport
// drops one that cannot reach the broker, which then delivers the message again.
type Delivery struct {
	Assignment protocol.Assignment
	// Ack removes the message: the server has answered whether the worker holds the step.
	Ack func()
	// Release returns the message to its queue: no server has answered.
	Release func()
	// Reject removes the message as unusable. The broker makes a dead letter of it.
	Reject func()
}

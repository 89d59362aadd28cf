package worker

import (
	"context"
	"log/slog"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/worker/protocol"
)

// Transport brings a worker its steps in messages of a broker, instead of polls; see Options. Package rabbitmq
// has one. Everything else goes to the Backend: the worker starts and settles its steps there, so a message is only
// the notice of a lease, and may be lost, late or repeated without harm.
//
// Several workers may share one Transport, so its methods must be safe for concurrent use.
type Transport interface {
	// Name is the transport that the worker registers with, such as TransportAMQP.
	Name() string
	// Check connects to the broker once and disconnects. It blocks and retries while the broker is unavailable, of which
	// log tells, and returns an error when the broker refuses the credentials, when the settings are wrong, or when ctx
	// ends.
	Check(ctx context.Context, log *slog.Logger) error
	// Receive consumes the queue and passes each message to sub.Deliver, until ctx ends. It handles every failure:
	// it reconnects after growing pauses, and waits for a queue that does not exist. When ctx has ended, it takes no
	// more messages and returns as soon as each delivery has its answer, or the connection is lost.
	Receive(ctx context.Context, sub Subscription)
}

// Subscription is what a Transport receives, and for whom.
type Subscription struct {
	// WorkerID is the worker. A message for another one is rejected, not delivered.
	WorkerID uuid.UUID
	// Queue is the name of the queue, from the answer to the registration.
	Queue string
	// Prefetch bounds the deliveries without an answer.
	Prefetch int
	// Deliver takes one delivery over. It does not block, and is safe for concurrent use. A message that is delivered
	// again after a reconnection is passed again; the worker recognizes its lease.
	Deliver func(Delivery)
	// Logger receives warnings for operators.
	Logger *slog.Logger
}

// Delivery is one message with a step that is assigned to the worker. The worker gives each delivery one answer. The
// answers do not block. One that cannot reach the broker is dropped: the broker then delivers the message again.
type Delivery struct {
	Assignment protocol.Assignment
	// Ack removes the message: the server has answered whether the worker holds the step.
	Ack func()
	// Release returns the message to its queue: no server has answered.
	Release func()
	// Reject removes the message as unusable. The broker makes a dead letter of it.
	Reject func()
}

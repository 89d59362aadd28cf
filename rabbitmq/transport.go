package rabbitmq

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Options configures NewTransport. A zero field selects the default.
type Options struct {
	// ConnectionName is the name that operators of RabbitMQ see. Defaults to "tasker worker" and the ID of the worker.
	ConnectionName string
}

// Transport is a worker.Transport over RabbitMQ. Several workers may share one; each has its own connection.
type Transport struct {
	url  string
	opts Options
}

var _ worker.Transport = (*Transport)(nil)

// NewTransport returns a Transport that connects to a URL:
//
//	amqp://[USER:PASSWORD@]HOST[:PORT][/VHOST][?PARAMETERS]   amqps:// with TLS
//
// The parameters are those of RabbitMQ's own clients: heartbeat (in seconds, 10 by default), connection_timeout (in
// milliseconds, 30,000 by default), auth_mechanism, and for TLS cacertfile, certfile, keyfile, verify and
// server_name_indication. NewTransport connects to nothing; Check reports an invalid URL.
func NewTransport(url string, opts Options) *Transport { return &Transport{url: url, opts: opts} }

// Name implements worker.Transport.
func (t *Transport) Name() string { return protocol.TransportAMQP }

// doubts is the number of successive refusals after which Check believes them: a server that stops during the handshake
// seems to refuse the password.
const doubts = 3

// Check implements worker.Transport. It returns a *tasker.Error with CodeInvalid for an invalid URL, and with
// CodeForbidden when RabbitMQ refuses the user or the virtual host, or its certificate is not trusted.
func (t *Transport) Check(ctx context.Context, log *slog.Logger) error {
	target, err := amqp.Parse(t.url)
	if err != nil {
		return &tasker.Error{Code: tasker.CodeInvalid, Message: err.Error()}
	}
	var pause backoff
	refusals := 0
	for {
		conn, err := target.Dial(ctx, "tasker worker")
		if err == nil {
			conn.Shutdown(closeTimeout)
			return nil
		}
		if refusals++; !refused(err) {
			refusals = 0
		}
		if refusals == doubts {
			return &tasker.Error{Code: tasker.CodeForbidden, Message: err.Error()}
		}
		if ctx.Err() == nil {
			log.Warn("RabbitMQ does not answer", "error", err)
		}
		if !pause.wait(ctx) {
			return fmt.Errorf("connect to RabbitMQ: %w", ctx.Err())
		}
	}
}

func refused(err error) bool {
	var refusal *amqp091.Error
	if errors.As(err, &refusal) {
		return refusal.Code == amqp091.AccessRefused || refusal.Code == amqp091.NotAllowed
	}
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate)
}

// Receive implements worker.Transport.
func (t *Transport) Receive(ctx context.Context, sub worker.Subscription) {
	var pause backoff
	early := 0 // tries before the queue existed
	for ctx.Err() == nil {
		begun := time.Now()
		err := t.consume(ctx, sub)
		if ctx.Err() != nil {
			return
		}
		if noQueue(err) && early < patientTries {
			early++ // the server declares the queue a moment after the registration
			sub.Logger.Debug("the queue is not there yet", "queue", sub.Queue)
			pause = backoff{}
		} else {
			sub.Logger.Warn("receive steps from RabbitMQ", "queue", sub.Queue, "error", err)
		}
		if time.Since(begun) > maxPause {
			pause, early = backoff{}, 0
		}
		pause.wait(ctx)
	}
}

// patientTries is the number of tries, about 100 ms apart, for which a missing queue is not reported.
const patientTries = 20

func noQueue(err error) bool {
	var refusal *amqp091.Error
	return errors.As(err, &refusal) && refusal.Code == amqp091.NotFound
}

// consume receives over one connection until ctx ends and every delivery has its answer, or the connection or the
// consumer is lost. In the latter case it returns the reason.
func (t *Transport) consume(ctx context.Context, sub worker.Subscription) error {
	name := t.opts.ConnectionName
	if name == "" {
		name = "tasker worker " + sub.WorkerID.String()
	}
	target, err := amqp.Parse(t.url)
	if err != nil {
		return err
	}
	conn, err := target.Dial(ctx, name)
	if err != nil {
		return err
	}
	defer conn.Shutdown(closeTimeout)
	c, err := newConsumer(ctx, conn, sub)
	if err != nil {
		return err
	}
	return c.run(ctx)
}

// closeTimeout bounds how long a connection waits for the broker at its end: RabbitMQ or the network may be frozen.
const closeTimeout = 5 * time.Second

// Bounds of the pause between connections.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// backoff pauses longer after each failure, with jitter so that the workers of a broker do not return together.
type backoff struct{ failures int }

func (b *backoff) wait(ctx context.Context) bool {
	d := min(firstPause<<min(b.failures, 10), maxPause)
	b.failures++
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

package amqp

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rabbitmq/amqp091-go"
)

// Conn is a connection. It does not reconnect: after a loss its calls fail. Calls of the library block while the server
// does not answer, or does not read because of an alarm; Await bounds them.
type Conn struct {
	*amqp091.Connection

	mu     sync.Mutex
	raw    net.Conn
	closed bool
}

// Dial connects. It blocks until the server has accepted the client, or ctx or the time-out of the URL ends. RabbitMQ
// shows name as the name of the connection.
func (t *Target) Dial(ctx context.Context, name string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	c := &Conn{}
	// The library ignores contexts: the end of ctx must end handshakes too.
	defer context.AfterFunc(ctx, c.Abort)()
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	config := amqp091.Config{Properties: properties, Dial: func(network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		raw = coalesce(raw)
		if c.raw = raw; c.closed {
			_ = raw.Close()
		}
		return raw, nil
	}}
	if t.tls != nil {
		config.TLSClientConfig = t.tls.Clone()
	}
	var err error
	if c.Connection, err = amqp091.DialConfig(t.dial, config); err != nil {
		c.Abort()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connect to RabbitMQ: %w", ctx.Err())
		}
		return nil, fmt.Errorf("connect to RabbitMQ: %w", err)
	}
	return c, nil
}

// Abort ends the connection without a word to the server. Waiting calls return an error. Unacknowledged messages return
// to their queues.
func (c *Conn) Abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.raw != nil {
		_ = c.raw.Close()
	}
}

// Shutdown closes the connection, politely if the server answers in time. A second call does nothing.
func (c *Conn) Shutdown(within time.Duration) {
	if !c.IsClosed() {
		late := time.AfterFunc(within, c.Abort)
		_ = c.Close() // closed, or lost already
		late.Stop()
	}
	c.Abort()
}

// Await runs a call of the library. If ctx ends before it returns, Await aborts the connection and returns the error of
// ctx: the outcome of the call is unknown.
func (c *Conn) Await(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, c.Abort)
	err := call()
	if !stop() && err != nil {
		return ctx.Err()
	}
	return err
}

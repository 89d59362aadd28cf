package rabbitmq

import (
	"context"

	connection "github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/broker/dispatch"
	"github.com/taskerhq/tasker/internal/broker/driver"
)

// Open returns the Dispatcher on the RabbitMQ of a URL. It is a dispatch.OpenTransport.
func Open(e dispatch.Engine, url string, o dispatch.Options) (dispatch.Transport, error) {
	target, err := connection.Parse(url)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, name string) (*connection.Conn, error) {
		c, err := target.Dial(ctx, name)
		if err != nil {
			return nil, driver.Hide(err, url)
		}
		return c, nil
	}
	return New(e, Options{Dial: dial, Queue: o.Queue, Topology: Topology(o.Topology), Prefetch: o.Prefetch,
		Health: o.Health, Now: o.Now, Logger: o.Logger, Observer: o.Observer}), nil
}

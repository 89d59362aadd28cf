// Package rabbitmq links RabbitMQ into a program with the embedded engine: the driver "rabbitmq" of sources, and the
// dispatch of steps to workers at message_queue.rabbitmq.url.
//
//	import _ "github.com/taskerhq/tasker/embedded/rabbitmq"
package rabbitmq

import (
	"github.com/taskerhq/tasker/internal/broker/dispatch"
	transport "github.com/taskerhq/tasker/internal/broker/dispatch/rabbitmq"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/rabbitmq"
)

func init() {
	driver.Register("rabbitmq", rabbitmq.Open)
	dispatch.Transports.Register(dispatch.RabbitMQ, transport.Open)
}

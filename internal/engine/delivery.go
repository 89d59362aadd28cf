package engine

import (
	"strconv"

	"github.com/taskerhq/tasker/internal/task"
)

// Workers that get their steps from a queue of a message broker. See docs/design/0037-dispatch-over-rabbitmq.md.

// transportFault describes the error in the transport of a registration, or returns "".
func (e *Engine) transportFault(t task.Transport) string {
	switch {
	case t != task.TransportHTTP && t != task.TransportAMQP:
		return "must be http or amqp, not " + strconv.Quote(string(t))
	case t == task.TransportAMQP && !e.cfg.Delivery.Offered:
		return "this server has no message broker (message_queue.rabbitmq.url), so its workers poll"
	}
	return ""
}

// QueueOf returns the name of the queue to which the steps of a worker are sent; "" for a worker that only polls.
func (e *Engine) QueueOf(w *task.Worker) string {
	if w.Transport != task.TransportAMQP {
		return ""
	}
	return task.DeliveryQueue(e.cfg.Delivery.QueuePrefix, w.ID)
}

package rabbitmq

import (
	"context"
	"log/slog"

	"github.com/taskerhq/tasker/internal/broker/dispatch"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/model/task"
)

// queues that one call looks at, and those remembered as gone
const removeBatch, maxRemoved = 50, 10_000

// RemoveQueues deletes empty queues without consumers of workers that are dead or have deregistered; messages in them
// expire first. It looks at a bounded number, and returns how many it deleted and whether there are more. One node at a
// time is enough. Without a reachable broker it does nothing.
func (d *Dispatcher) RemoveQueues(ctx context.Context) (n int, more bool, err error) {
	fleet, err := d.engine.Fleet(ctx)
	if err != nil {
		return 0, false, err
	}
	dead := d.notRemoved(fleet)
	if len(dead) == 0 {
		return 0, false, nil
	}
	if len(dead) > removeBatch {
		dead, more = dead[:removeBatch], true
	}
	bounded, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := d.opts.Dial(bounded, "tasker queues")
	if err != nil {
		d.opts.Logger.Debug("queues of dead workers stay: RabbitMQ cannot be reached", slog.Any("error", err))
		return 0, false, nil
	}
	defer conn.Shutdown(closeTimeout)
	looked := false
	for _, id := range dead {
		if ctx.Err() != nil {
			return n, false, ctx.Err()
		}
		name := d.opts.Queue(id)
		gone, err := d.remove(conn.Connection, name)
		if err != nil {
			d.opts.Logger.Warn("the queue of a dead worker cannot be deleted", slog.String("queue", name),
				slog.Any("error", err))
			continue
		}
		if gone {
			n++
			looked = true
			d.mu.Lock()
			if len(d.removed) >= maxRemoved {
				clear(d.removed)
			}
			d.removed[id] = struct{}{}
			d.mu.Unlock()
		}
	}
	return n, more && looked, nil
}

func (d *Dispatcher) notRemoved(fleet []dispatch.Worker) []task.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	var dead []task.ID
	for i := range fleet {
		id := fleet[i].ID
		if fleet[i].State != task.WorkerDead {
			delete(d.removed, id)
		} else if _, done := d.removed[id]; !done {
			dead = append(dead, id)
		}
	}
	return dead
}

func (d *Dispatcher) remove(conn *amqp.Connection, name string) (bool, error) {
	q, err := inspect(conn, name)
	if refusal(err) == amqp.NotFound {
		return true, nil
	}
	if err != nil || q.Messages > 0 || q.Consumers > 0 {
		return false, err
	}
	err = onChannel(conn, func(ch *amqp.Channel) error {
		_, err := ch.QueueDelete(name, true, true, false)
		return err
	})
	switch refusal(err) {
	case amqp.PreconditionFailed: // a message or a consumer has come
		return false, nil
	case amqp.NotFound:
		return true, nil
	}
	return err == nil, err
}

package letters

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

var classics = &kind{driver: "rabbitmq", queueType: "classic", blind: true, stages: stagesOfRabbit}

var quorums = &kind{driver: "rabbitmq", queueType: "quorum", blind: true, stages: stagesOfRabbit}

// stagesOfRabbit are the events of a tap.
var stagesOfRabbit = map[string]string{"taken": delivered, "acknowledged": acknowledged, "sent": published,
	"confirmed": confirmed}

// rabbit is the queues of a RabbitMQ. Queue orders is a stream, which keeps read messages. Every message keeps its ID
// when it dies again.
type rabbit struct {
	kind   *kind
	server *rabbittest.Server

	conn     *amqp.Conn // nil: none
	ch       *amqp091.Channel
	confirms chan amqp091.Confirmation
	orders   <-chan amqp091.Delivery // nil until orders is read
	marks    int
}

// answers bounds a confirm or a delivery of RabbitMQ, which may be frozen.
const answers = 2 * time.Second

func openRabbit(k *kind, server *rabbittest.Server) (*rabbit, error) {
	r := &rabbit{kind: k, server: server}
	err := r.use(func() error {
		for _, name := range []string{dead, deadOfPolicy, deadUntouched} {
			if err := r.declare(name, k.queueType); err != nil {
				return err
			}
		}
		return r.declare(orders, "stream")
	})
	if err != nil {
		return nil, err
	}
	return r, server.Sync()
}

func (r *rabbit) declare(queue, of string) error {
	_, err := r.ch.QueueDeclare(queue, true, false, false, false, amqp091.Table{"x-queue-type": of})
	if err != nil {
		return fmt.Errorf("declare %s: %w", queue, err)
	}
	return nil
}

// use calls a function with a channel. After a failure or a time-out the connection is abandoned.
func (r *rabbit) use(do func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), answers)
	defer cancel()
	if r.conn == nil {
		if err := r.connect(ctx); err != nil {
			return err
		}
	}
	if err := r.conn.Await(ctx, do); err != nil {
		r.close()
		return err
	}
	return nil
}

func (r *rabbit) connect(ctx context.Context) error {
	target, err := amqp.Parse(r.server.URL())
	if err != nil {
		return err
	}
	conn, err := target.Dial(ctx, "world")
	if err != nil {
		return err
	}
	err = conn.Await(ctx, func() error {
		if r.ch, err = conn.Channel(); err != nil {
			return err
		}
		return errors.Join(r.ch.Confirm(false), r.ch.Qos(1000, 0, false))
	})
	if err != nil {
		conn.Abort()
		return err
	}
	r.conn, r.orders = conn, nil
	r.confirms = r.ch.NotifyPublish(make(chan amqp091.Confirmation, 1000))
	return nil
}

func (r *rabbit) close() {
	if r.conn != nil {
		r.conn.Abort()
		r.conn = nil
	}
}

func (r *rabbit) push(queue string, entries []entry) error {
	return r.use(func() error { return r.publish(queue, entries) })
}

// publish returns when everything is confirmed.
func (r *rabbit) publish(queue string, entries []entry) error {
	for _, e := range entries {
		m := amqp091.Publishing{Body: []byte(e.payload), DeliveryMode: amqp091.Persistent, Headers: amqp091.Table{},
			MessageId: fmt.Sprintf("message %d", order(e.payload))}
		for i := 0; i+1 < len(e.headers); i += 2 {
			m.Headers[e.headers[i]] = e.headers[i+1]
		}
		if err := r.ch.PublishWithContext(context.Background(), "", queue, true, false, m); err != nil {
			return err
		}
	}
	for range entries {
		if c, ok := <-r.confirms; !ok || !c.Ack {
			return fmt.Errorf("%s: not confirmed", queue)
		}
	}
	return nil
}

func (r *rabbit) from(_ int, id string) ([]found, error) {
	next, last := any("first"), int64(-1)
	if id != "" {
		var err error
		if last, err = strconv.ParseInt(id, 10, 64); err != nil {
			return nil, err
		}
		next = last + 1
	}
	var out []found
	err := r.use(func() error {
		if r.orders == nil {
			var err error
			if r.orders, err = r.ch.Consume(orders, "", false, false, false, false,
				amqp091.Table{"x-stream-offset": next}); err != nil {
				return err
			}
		}
		r.marks++
		mark := fmt.Sprintf("mark %d", r.marks)
		if err := r.publish(orders, []entry{{payload: mark}}); err != nil {
			return err
		}
		for d := range r.orders {
			if err := d.Ack(false); err != nil {
				return err
			}
			at, ok := d.Headers["x-stream-offset"].(int64)
			switch {
			case !ok:
				return fmt.Errorf("a message of %s has no offset", orders)
			case string(d.Body) == mark:
				return nil
			case at <= last || strings.HasPrefix(string(d.Body), "mark "):
				continue
			}
			f := found{id: strconv.FormatInt(at, 10), entry: entry{payload: string(d.Body)}}
			for name, value := range d.Headers {
				if name != "x-stream-offset" {
					f.headers = append(f.headers, name, fmt.Sprint(value))
				}
			}
			out = append(out, f)
		}
		return errors.New("the connection is lost")
	})
	if err != nil {
		return nil, err // all of it is read again
	}
	return out, nil
}

const waitingScript = `case rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"%s">>)) of {ok, Q} ->
case amqqueue:get_type(Q) of
rabbit_quorum_queue ->
  {ok, {_, N}, _} = ra:leader_query(amqqueue:get_pid(Q), fun rabbit_fifo:query_messages_total/1), N;
_ -> [{messages, N}] = rabbit_amqqueue:info(Q, [messages]), N end end`

func (r *rabbit) waiting(queue string) (int, error) {
	answer, err := r.server.Eval(fmt.Sprintf(waitingScript, queue))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(answer))
}

func parametersOfRabbit() url.Values {
	return url.Values{"heartbeat": {"2"}, "connection_timeout": {"2000"}}
}

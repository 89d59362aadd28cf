package rabbitmq

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/broker/dispatch"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// The form of a message to a worker. The public package rabbitmq reads it.
const (
	messageType = "tasker.step"
	contentType = "application/json"

	headerStep         = "tasker-step"
	headerTask         = "tasker-task"
	headerWorker       = "tasker-worker"
	headerNamespace    = "tasker-namespace"
	headerAttempt      = "tasker-attempt"
	headerDispatchedAt = "tasker-dispatched-at"
	headerTTL          = "tasker-ttl-ms"
	headerTrace        = "traceparent"
)

const dispatchedLayout = "2006-01-02T15:04:05.000Z07:00"

func messageOf(worker task.ID, s *dispatch.Dispatch, now time.Time) (amqp.Publishing, error) {
	body, err := json.Marshal(&s.Assignment)
	if err != nil {
		return amqp.Publishing{}, fmt.Errorf("encode step %s: %w", s.StepUUID, err)
	}
	headers := amqp.Table{headerStep: s.StepUUID.String(), headerTask: s.TaskUUID.String(),
		headerWorker: worker.String(), headerNamespace: s.Namespace, headerAttempt: int64(s.Attempt),
		headerDispatchedAt: now.UTC().Format(dispatchedLayout), headerTTL: s.TTL.Milliseconds()}
	if s.TraceParent != "" {
		headers[headerTrace] = s.TraceParent
	}
	return amqp.Publishing{Headers: headers, ContentType: contentType, DeliveryMode: amqp.Persistent,
		CorrelationId: s.CorrelationID, Expiration: strconv.FormatInt(s.TTL.Milliseconds(), 10),
		MessageId: fmt.Sprintf("%s.%d", s.StepUUID, s.Attempt), Timestamp: now, Type: messageType, Body: body}, nil
}

var errForeign = errors.New("not a dispatch")

// dispatchOf is the reverse of messageOf; errForeign for any other message.
func dispatchOf(m *amqp.Delivery, now time.Time) (dispatch.Expired, error) {
	if m.Type != messageType {
		return dispatch.Expired{}, fmt.Errorf("%w: its type is %q", errForeign, m.Type)
	}
	var lease protocol.LeaseRef
	if err := json.Unmarshal(m.Body, &lease); err != nil {
		return dispatch.Expired{}, fmt.Errorf("%w: %w", errForeign, err)
	}
	name, _ := m.Headers[headerWorker].(string)
	worker, err := task.ParseID(name)
	switch {
	case err != nil:
		return dispatch.Expired{}, fmt.Errorf("%w: its header %s names no worker", errForeign, headerWorker)
	case lease.StepUUID == protocol.LeaseRef{}.StepUUID || lease.Token == "":
		return dispatch.Expired{}, fmt.Errorf("%w: it names no step and token", errForeign)
	}
	return dispatch.Expired{Worker: worker, At: diedAt(m, now), Lease: lease}, nil
}

// diedAt is when a dispatch died. Its broker keeps only the second; if its TTL ended in that second, the time is
// computed. A message behind others dies later than its TTL says.
func diedAt(m *amqp.Delivery, now time.Time) time.Time {
	at := now
	if died, ok := deathTime(m); ok && died.Before(now) {
		at = died
	}
	text, _ := m.Headers[headerDispatchedAt].(string)
	ttl, _ := m.Headers[headerTTL].(int64)
	if sent, err := time.Parse(dispatchedLayout, text); err == nil && ttl > 0 {
		end := sent.Add(time.Duration(ttl) * time.Millisecond)
		if gap := end.Sub(at); gap > -time.Second && gap < time.Second && end.Before(now) {
			return end
		}
	}
	return at
}

func deathTime(m *amqp.Delivery) (time.Time, bool) {
	deaths, _ := m.Headers["x-death"].([]any)
	if len(deaths) == 0 {
		return time.Time{}, false
	}
	first, _ := deaths[0].(amqp.Table)
	at, ok := first["time"].(time.Time)
	return at, ok
}

package rabbitmq

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/worker/protocol"
)

const messageType = "tasker.step"

const workerHeader = "tasker-worker"

// decode reads the step in a message for worker.
func decode(d *amqp091.Delivery, worker uuid.UUID) (protocol.Assignment, error) {
	var a protocol.Assignment
	if d.Type != messageType {
		return a, fmt.Errorf("its type is %q, not %q", d.Type, messageType)
	}
	if to, _ := d.Headers[workerHeader].(string); to != worker.String() {
		return a, fmt.Errorf("it is for worker %q", to)
	}
	if err := json.Unmarshal(d.Body, &a); err != nil {
		return a, fmt.Errorf("decode it: %w", err)
	}
	if a.StepUUID == uuid.Nil || a.Token == "" {
		return a, errors.New("it has no step or no token")
	}
	return a, nil
}

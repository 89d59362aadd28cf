package local

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
	"github.com/taskerhq/tasker/waits"
)

// SendSignal implements waits.Backend.
func (b *Backend) SendSignal(ctx context.Context, req waits.SignalRequest) (*waits.Signal, error) {
	s, created, err := b.engine.SendSignal(ctx, engine.SignalRequest{
		SignalName: task.SignalName{Namespace: req.Namespace, ID: req.SignalID}, Name: req.Name, Key: req.Key,
		Payload: req.Payload})
	if err != nil {
		return nil, ToError(err)
	}
	return &waits.Signal{SignalID: s.ID, Namespace: s.Namespace, Name: s.Name, Key: s.Key,
		ReceivedAt: s.ReceivedAt.Time(), KeptUntil: s.ExpiresAt.Time(), Taken: s.Taken, Created: created}, nil
}

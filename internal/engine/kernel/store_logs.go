package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// LogStore keeps the logs of attempts.
type LogStore interface {
	// AddLog stores a log, and deletes all but the last kept logs of its step, by lease.
	AddLog(ctx context.Context, tx Tx, l *task.AttemptLog, kept int) error
	// Logs returns the logs of a step, the last lease first.
	Logs(ctx context.Context, step task.ID) ([]task.AttemptLog, error)
}

package masking

import (
	"context"
	"sync"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

const lookAgain = time.Minute

// maxLooks bounds the remembered looks; beyond it they are forgotten, and recorded again.
const maxLooks = 10_000

// looks are this node's recorded looks of the last minute.
type looks struct {
	now func() time.Time

	mu    sync.Mutex
	since map[seen]time.Time
}

type seen struct{ key, operation, path string }

// NoteLook records a look at the object of a path, once a minute for a key and an object on this node. After an error
// nothing may be shown. Two concurrent first looks may both be recorded.
func (m *Masker) NoteLook(ctx context.Context, operation, path string, body any) error {
	of := seen{operation: operation, path: path}
	if p := access.From(ctx); p != nil {
		of.key = p.ID()
	}
	if m.looks.recent(of) {
		return nil
	}
	if err := m.rules.NoteLook(ctx, lookAt(operation, path, body)); err != nil {
		return err
	}
	m.looks.add(of)
	return nil
}

func (l *looks) recent(of seen) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, known := l.since[of]
	return known && l.now().Sub(at).Abs() < lookAgain
}

func (l *looks) add(of seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == nil || len(l.since) >= maxLooks {
		l.since = map[seen]time.Time{}
	}
	l.since[of] = l.now()
}

func lookAt(operation, path string, body any) sensitive.Look {
	look := sensitive.Look{Operation: operation, Object: path}
	switch v := body.(type) {
	case *tasker.Task:
		look.TaskUUID, look.Namespace = v.TaskUUID, v.Namespace
	case *tasker.Step:
		look.TaskUUID = v.TaskUUID
	case *tasker.TaskHistory:
		look.TaskUUID = v.TaskUUID
	case *operate.Case:
		look.TaskUUID, look.CaseUUID, look.Namespace = v.TaskUUID, v.CaseUUID, v.Namespace
	case *queueapi.QueueTask:
		look.TaskUUID = v.TaskID
	case *executionapi.Execution:
		look.TaskUUID, look.Namespace = v.ID, v.Namespace
	}
	return look
}

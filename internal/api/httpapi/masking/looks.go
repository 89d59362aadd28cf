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

// lookAgain is how long a look of a key at an object stands for further ones.
const lookAgain = time.Minute

// maxLooks bounds the looks that are remembered; beyond it they are forgotten, and recorded again.
const maxLooks = 10_000

// looks are the recorded looks of the last minute on this node.
type looks struct {
	now func() time.Time

	mu    sync.Mutex
	since map[seen]time.Time
}

// seen is an object as a key has seen it.
type seen struct{ key, operation, path string }

// NoteLook records a look at the object of a path, once a minute for a key and an object on this node. An error means
// that it is not recorded, and that nothing may be shown. Two first looks at the same time may both be recorded.
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

// lookAt describes a look: the object is that of the answer, where it is one.
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

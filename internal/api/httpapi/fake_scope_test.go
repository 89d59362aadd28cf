package httpapi_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

func namespaceOf(id uuid.UUID) (namespace string, known bool) {
	switch id {
	case taskID, caseID:
		return "default", true
	case otherID, otherCaseID:
		return "secret", true
	}
	return "", false
}

// outside answers CodeNotFound for a task or case that the key does not reach.
func outside(ctx context.Context, id uuid.UUID) error {
	p := access.From(ctx)
	if namespace, known := namespaceOf(id); !p.Limited() || known && p.Reaches(namespace) {
		return nil
	}
	return tasker.Errorf(tasker.CodeNotFound, "task %s is unknown", id)
}

func (f *fake) noteOf(ctx context.Context, id uuid.UUID, request any) error {
	if err := outside(ctx, id); err != nil {
		return err
	}
	return f.note(request)
}

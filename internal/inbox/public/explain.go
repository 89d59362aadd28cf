package public

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

// ExplainLetter implements deadletters.LetterBackend.
func (b *Backend) ExplainLetter(ctx context.Context, id uuid.UUID) (*deadletters.StateExplanation, error) {
	l, e, err := b.inbox.ExplainLetter(ctx, task.ID(id))
	if err != nil {
		return nil, shownError(err)
	}
	return shownExplanation(deadletters.KindLetter, id, string(l.State), e), nil
}

// ExplainRedrive implements deadletters.RedriveBackend.
func (b *Backend) ExplainRedrive(ctx context.Context, id uuid.UUID) (*deadletters.StateExplanation, error) {
	r, e, err := b.inbox.ExplainRedrive(ctx, task.ID(id))
	if err != nil {
		return nil, shownError(err)
	}
	return shownExplanation("redrive", id, string(r.State), e), nil
}

func shownExplanation(kind deadletters.Kind, id uuid.UUID, state string, e deadletter.Explanation,
) *deadletters.StateExplanation {
	return &deadletters.StateExplanation{Kind: string(kind), UUID: id, State: state, Summary: e.Summary, Why: e.Why,
		Next: e.Next}
}

package public

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

func (b *backend) ExplainLetter(ctx context.Context, id uuid.UUID) (*deadletters.StateExplanation, error) {
	l, e, err := b.inbox.ExplainLetter(ctx, task.ID(id))
	if err != nil {
		return nil, shownError(err)
	}
	out := shownExplanation(string(l.State), e)
	out.LetterUUID = &id
	return out, nil
}

func (b *backend) ExplainRedrive(ctx context.Context, id uuid.UUID) (*deadletters.StateExplanation, error) {
	r, e, err := b.inbox.ExplainRedrive(ctx, task.ID(id))
	if err != nil {
		return nil, shownError(err)
	}
	out := shownExplanation(string(r.State), e)
	out.RedriveUUID = &id
	return out, nil
}

func shownExplanation(state string, e deadletter.Explanation) *deadletters.StateExplanation {
	return &deadletters.StateExplanation{State: state, Summary: e.Summary, Why: e.Why, Next: e.Next}
}

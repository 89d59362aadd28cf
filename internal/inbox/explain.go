package inbox

import (
	"context"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

// ExplainLetter returns a letter, and tells in sentences how it came to its state, and what changes it.
func (in *Inbox) ExplainLetter(ctx context.Context, id task.ID) (*deadletter.Letter, deadletter.Explanation, error) {
	var none deadletter.Explanation
	l, err := in.letter(ctx, id)
	if err != nil {
		return nil, none, err
	}
	s, err := in.store.FindSource(ctx, l.Namespace, l.Source)
	if err != nil || s == nil {
		return l, deadletter.ExplainLetter(l, nil, nil), err
	}
	policies, err := in.policiesOf(ctx, l.Namespace)
	if err != nil {
		return nil, none, err
	}
	return l, deadletter.ExplainLetter(l, s, policies.of(l)), nil
}

// ExplainRedrive is ExplainLetter for a redrive.
func (in *Inbox) ExplainRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, deadletter.Explanation, error) {
	r, err := in.Redrive(ctx, id)
	if err != nil {
		return nil, deadletter.Explanation{}, err
	}
	return r, deadletter.ExplainRedrive(r), nil
}

package inbox

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/intake"
)

// previewMessages bounds the messages of a preview.
const previewMessages = 10

// IntakePreview is what a message would become: a task, or a letter for a reason.
type IntakePreview struct {
	Task    *intake.Task
	Refusal *intake.Refusal
}

// previewIntake returns what the first messages of a source would become. They stay on their broker; nothing is stored.
// It is nil where the broker cannot show messages. The error is the broker's.
func (in *Inbox) previewIntake(ctx context.Context, s *deadletter.Source) ([]IntakePreview, error) {
	arrivals, err := in.opts.Carriers[s.Driver].Peek(ctx, s, previewMessages)
	if errors.Is(err, ErrNoPeek) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return in.previewed(ctx, in.takeIn(s, intake.NewPlan(s), arrivals)), nil
}

func (in *Inbox) previewed(ctx context.Context, b *intakeBatch) []IntakePreview {
	subs, places := b.submissions(nil)
	refused := b.refused
	for i, err := range in.tasks.CheckSubmissions(ctx, subs) {
		if err != nil {
			refused[places[i]] = refusalOf(err)
		}
	}
	list := make([]IntakePreview, len(b.arrivals))
	for i := range b.arrivals {
		if list[i].Refusal = refused[i]; refused[i] == nil {
			list[i].Task = b.orders[i]
		}
	}
	return list
}

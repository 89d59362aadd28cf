package inbox

import (
	"context"

	"github.com/taskerhq/tasker/internal/inbox/desk"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

type changedLetters struct {
	list  []*deadletter.Letter
	tally deadletter.Tally
}

func (c *changedLetters) add(l *deadletter.Letter, was model.LetterState) {
	c.list = append(c.list, l)
	c.tally.Of(l.Group).OpenLetters += opened(l.State) - opened(was)
}

func (c *changedLetters) save(ctx context.Context, tx engine.Tx, in *Inbox) error {
	if err := in.store.SaveStates(ctx, tx, c.list); err != nil {
		return err
	}
	return in.store.AddDeltas(ctx, tx, c.tally.Deltas())
}

func (c *changedLetters) events(now task.Instant) []deadletter.Event {
	news := desk.LetterNews{}
	for _, l := range c.list {
		news.Discarded(l)
	}
	return news.Events(now)
}

// changeStates changes letters, which read locks, and stores changed states with the counts of their groups.
func (in *Inbox) changeStates(ctx context.Context, tx engine.Tx,
	read func(context.Context, engine.Tx, []task.ID) ([]*deadletter.Letter, error), ids []task.ID,
	change func(*deadletter.Letter) error,
) (changedLetters, error) {
	var changed changedLetters
	letters, err := read(ctx, tx, desk.SortIDs(ids))
	if err != nil {
		return changed, err
	}
	for _, l := range letters {
		was := l.State
		if err := change(l); err != nil {
			return changed, err
		}
		if l.State != was {
			changed.add(l, was)
		}
	}
	return changed, changed.save(ctx, tx, in)
}

// opened is 1 for a letter that counts as open, else 0; the difference of two states is the delta of a change.
func opened(s model.LetterState) int64 {
	if s == model.LetterOpen || s == model.LetterScheduled {
		return 1
	}
	return 0
}

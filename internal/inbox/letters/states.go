package letters

import (
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Changed are letters whose states have changed, and the counts of their groups.
type Changed struct {
	List  []*deadletter.Letter
	tally deadletter.Tally
}

func (c *Changed) add(l *deadletter.Letter, was model.LetterState) {
	c.List = append(c.List, l)
	c.tally.Of(l.Group).OpenLetters += Opened(l.State) - Opened(was)
}

func (c *Changed) save(ctx context.Context, tx engine.Tx, in *Keeper) error {
	if err := in.store.SaveStates(ctx, tx, c.List); err != nil {
		return err
	}
	return in.store.AddDeltas(ctx, tx, c.tally.Deltas())
}

// Events returns the events of letters that are discarded.
func (c *Changed) Events(now task.Instant) []deadletter.Event {
	news := desk.LetterNews{}
	for _, l := range c.List {
		news.Discarded(l)
	}
	return news.Events(now)
}

// ChangeStates changes letters, which read locks, and stores changed states with the counts of their groups.
func (in *Keeper) ChangeStates(ctx context.Context, tx engine.Tx,
	read func(context.Context, engine.Tx, []task.ID) ([]*deadletter.Letter, error), ids []task.ID,
	change func(*deadletter.Letter) error,
) (Changed, error) {
	var changed Changed
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

// Opened is 1 for a letter that counts as open, else 0; the difference of two states is the delta of a change.
func Opened(s model.LetterState) int64 {
	if s == model.LetterOpen || s == model.LetterScheduled {
		return 1
	}
	return 0
}

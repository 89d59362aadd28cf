package redrive

import (
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	SelectCases(ctx context.Context, sel deadletter.Selection, limit int) (ids []task.ID, more bool, err error)
	// AddRedrive stores a redrive. Freeze stores its items, in the same transaction.
	AddRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error
	// Freeze stores the items that a redrive's selection selects now, the earliest death first, and returns their
	// number. task.TooLarge: more than limit.
	Freeze(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, limit int) (int, error)
	// locked
	Redrive(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Redrive, error)
	SaveRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error
	DecidedItems(ctx context.Context, tx engine.Tx, id task.ID, wave int) (int, error)
	// FindRedrive omits the counts of CountItems.
	FindRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error)
	ListRedrives(ctx context.Context, f Filter) ([]*deadletter.Redrive, error)
	// ActiveRedrives returns redrives that are running, observing or sending items; the oldest first, behind an ID.
	ActiveRedrives(ctx context.Context, behind task.ID, limit int) ([]*deadletter.Redrive, error)
	// ListItems returns items of a redrive above a number; state "" selects all.
	ListItems(ctx context.Context, id task.ID, state model.ItemState, above, limit int) ([]deadletter.Item, error)
	// SentCases returns items of sent cases by redrive and number, behind an item; with a wave only those of that wave
	// of the item's redrive.
	SentCases(ctx context.Context, behind deadletter.Item, wave, limit int) ([]CaseItem, error)
	// WaveOutcome counts the items of a wave by state, without uncertain ones, and returned ones by group.
	WaveOutcome(ctx context.Context, id task.ID, wave int) (deadletter.Outcome, error)
	// WaveTroubled reports whether an item of a wave came back, or could not be sent. It reads only items that came
	// back, failed or were skipped.
	WaveTroubled(ctx context.Context, id task.ID, wave int) (bool, error)
	// CountItems counts the items of a redrive, as FindRedrive returned it, by state.
	CountItems(ctx context.Context, r *deadletter.Redrive) (model.ItemCounts, error)
	CountWaves(ctx context.Context, id task.ID, above int) ([]model.RedriveWave, error)

	// Of other rooms.

	BareLetters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error)
	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	ListLetters(ctx context.Context, f letters.LetterFilter) (letters.LetterPage, error)
	SaveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error
}

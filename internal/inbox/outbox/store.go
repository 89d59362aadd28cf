package outbox

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	// LettersToSend is Letters without stacks, of the first IDs up to size bytes of large payloads, but at least one;
	// left are the other IDs. Without a transaction nothing is locked.
	LettersToSend(ctx context.Context, tx engine.Tx, ids []task.ID, size int) (letters []*deadletter.Letter,
		left []task.ID, err error)
	// BareLetters is Letters without headers, large payloads, edits and stacks, for changes of state.
	BareLetters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	// SaveUnchanged is SaveStates for letters of the version before. ErrChanged: some have another one, and the
	// transaction must be rolled back.
	SaveUnchanged(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	DueLetters(ctx context.Context, until task.Instant, limit int) ([]task.ID, error)
	// AddSends stores sends, and replaces those with their numbers. SaveSends stores the changeable fields.
	AddSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	SaveSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	// SaveDelivered is SaveSends for sends in flight under their turns. ErrChanged: some are not, and the transaction
	// must be rolled back.
	SaveDelivered(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	DropSends(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) error
	// SendsOf returns sends, locked, by owner and number.
	SendsOf(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) ([]deadletter.Send, error)
	// TakeTurn begins a turn of a loop, which ends the one before. HasTurn reports whether a turn is the latest; it
	// stays so until the transaction ends.
	TakeTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) error
	HasTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) (bool, error)
	// DueSends returns due sends, and those in flight since before orphans, whose process has ended.
	DueSends(ctx context.Context, kind deadletter.SendKind, now, orphans task.Instant, limit int) ([]deadletter.Send,
		error)
	// CountFailures counts waiting failures, and returns the time of the oldest; 0 for none.
	CountFailures(ctx context.Context, limit int) (n int, oldest task.Instant, err error)
	// AddDeltas adds changes of counts. Deltas never conflict with each other.
	AddDeltas(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error
	SaveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error
	ItemOf(ctx context.Context, tx engine.Tx, redrive, of task.ID) (*deadletter.Item, error)

	// Of other rooms.

	AddLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) ([]bool, error)
	FindRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error)
	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	Redrive(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Redrive, error)
	SaveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	SaveStates(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	Source(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Source, error)
	WholeLetters(ctx context.Context, ids []task.ID) ([]*deadletter.Letter, error)
}

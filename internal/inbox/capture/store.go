package capture

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	// AddLetters stores new letters with their first occurrences, and reports for each whether it was stored: not if a
	// letter of its source, or one before it in the list, has its identity, as its own or as an alias. It waits for
	// concurrent transactions that add the identity as an alias.
	AddLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) ([]bool, error)
	// Identified returns the letters of a source, whole and locked, by own identity or alias.
	Identified(ctx context.Context, tx engine.Tx, namespace, source string, identities []string) (
		map[string]*deadletter.Letter, error)
	// Namesakes returns the newest letters of a source by message ID. It locks nothing.
	Namesakes(ctx context.Context, tx engine.Tx, namespace, source string, messageIDs []string) (map[string]task.ID, error)
	AddOccurrences(ctx context.Context, tx engine.Tx, occurrences []deadletter.Occurrence) error
	// AddAliases stores aliases of locked letters, before their own identities change. It skips stored ones.
	AddAliases(ctx context.Context, tx engine.Tx, aliases []deadletter.Alias) error
	AnySends(ctx context.Context, tx engine.Tx, namespace, source string, contents []outbox.SentContent) (
		map[outbox.SentContent]int, error)
	// OpenSends returns sends of a content that no death has consumed, the latest first, locked.
	OpenSends(ctx context.Context, tx engine.Tx, namespace, source string, of outbox.SentContent, limit int) (
		[]deadletter.Send, error)
	// locked
	Journal(ctx context.Context, tx engine.Tx, namespace, source string) ([]byte, error)
	SaveJournal(ctx context.Context, tx engine.Tx, namespace, source string, journal []byte) error
	// TakeSource gives a node the right to read a source until a time, and reports success: not while another node has
	// it, nor for a missing source.
	TakeSource(ctx context.Context, tx engine.Tx, namespace, name, node string, now, until task.Instant) (bool, error)
	// SaveOversized records messages; a known one keeps its FirstAt.
	SaveOversized(ctx context.Context, tx engine.Tx, namespace, source string, list []deadletter.Oversized) error
	// DropOversized forgets messages by position, and ForgetOversized all of a source.
	DropOversized(ctx context.Context, tx engine.Tx, namespace, source string, positions []string) error

	// Of other rooms.

	engine.GroupRows
	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	Letters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	OpenLetters(ctx context.Context, namespace, source string, limit int) (int, error)
	Oversized(ctx context.Context, namespace, source string) ([]deadletter.Oversized, error)
	SaveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error
	SaveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	SaveSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	SendsOf(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) ([]deadletter.Send, error)
	Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error)
}

package sources

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	OpenLetters(ctx context.Context, namespace, source string, limit int) (int, error)
	SaveSource(ctx context.Context, tx engine.Tx, s *deadletter.Source) error
	DropSource(ctx context.Context, tx engine.Tx, s *deadletter.Source) error
	// Source locks nothing: SaveSource and DropSource notice concurrent changes.
	Source(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Source, error)
	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error)
	// MarkSource stores since when and why a source cannot be read; 0 if it can. It reports a change: a lost source
	// keeps its time.
	MarkSource(ctx context.Context, tx engine.Tx, namespace, name string, lost task.Instant, why string) (bool, error)
	Oversized(ctx context.Context, namespace, source string) ([]deadletter.Oversized, error)
	ForgetOversized(ctx context.Context, tx engine.Tx, namespace, source string) error
	SavePolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error
	DropPolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error
	// Policy returns the policy of exactly this origin; "" is the whole source. It locks nothing.
	Policy(ctx context.Context, tx engine.Tx, namespace, source, origin string) (*deadletter.Policy, error)
	Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error)

	// Of other rooms.

	FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error)
}

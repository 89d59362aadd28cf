package local

import (
	"context"

	"github.com/taskerhq/tasker/operate"
)

// Turns returns which process runs each loop of which only one may run; nil for a store that belongs to this process
// alone.
func (b *Backend) Turns(ctx context.Context) ([]operate.Turn, error) {
	turns, err := b.engine.Turns(ctx)
	if err != nil {
		return nil, ToError(err)
	}
	var out []operate.Turn
	for _, t := range turns {
		out = append(out, operate.Turn{Loop: t.Loop, Node: t.Node, TakenAt: t.Taken.Time(), Until: t.Until.Time()})
	}
	return out, nil
}

package office

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// NoteKeyUse stores an act that the request's key is in use on a node, to show which keys can be withdrawn. The
// caller decides how often; without a key nothing is stored.
func (e *Room) NoteKeyUse(ctx context.Context, node string) error {
	key := kernel.KeyOf(ctx)
	if key == "" {
		return nil
	}
	data, err := json.Marshal(map[string]string{"node": node})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	return e.Write(ctx, "note_key_use", func(u *kernel.Unit) error {
		u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, Kind: task.ActUseKey, Actor: key,
			Reason: "first use of the day on this node", Data: data})
		return nil
	})
}

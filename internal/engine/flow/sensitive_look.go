package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/task"
)

// NoteLook records in the audit trail that the request's key sees sensitive data. The caller decides how often.
func (e *Room) NoteLook(ctx context.Context, look sensitive.Look) error {
	data, err := json.Marshal(map[string]string{"operation": look.Operation, "object": look.Object})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	return e.Write(ctx, "note_look", func(u *kernel.Unit) error {
		u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, Kind: task.ActSeeSensitive,
			Actor:  kernel.ActorOf(ctx, ""),
			TaskID: task.ID(look.TaskUUID), CaseID: task.ID(look.CaseUUID), Namespace: look.Namespace,
			Reason: "asked for sensitive values", Data: data})
		return nil
	})
}

package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/task"
)

// NoteLook records in the audit trail that the request's key sees sensitive data. The caller decides how often.
func (e *Engine) NoteLook(ctx context.Context, look sensitive.Look) error {
	data, err := json.Marshal(map[string]string{"operation": look.Operation, "object": look.Object})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	return e.write(ctx, "note_look", func(u *unit) error {
		u.records.acts = append(u.records.acts, task.Act{At: u.now, Kind: task.ActSeeSensitive, Actor: ActorOf(ctx, ""),
			TaskID: task.ID(look.TaskUUID), CaseID: task.ID(look.CaseUUID), Namespace: look.Namespace,
			Reason: "asked for sensitive values", Data: data})
		return nil
	})
}

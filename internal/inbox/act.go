package inbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// act is an operator's act on an object of the inbox.
type act struct {
	kind      string // verb and object: discard_letter
	by        By
	key       string
	namespace string
	of        string // the object
	from, to  string // its states; "" where they do not matter
	data      any    // what the operator gave; nil for nothing
}

// act stores an act in the audit trail, in the transaction of what was done.
func (in *Inbox) act(ctx context.Context, tx engine.Tx, a act) error {
	data, err := json.Marshal(struct {
		Object string `json:"object"`
		Input  any    `json:"input,omitempty"`
	}{a.of, a.data})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	stored := task.Act{At: in.now(), Namespace: a.namespace, Kind: a.kind, Actor: a.by.Actor, Reason: a.by.Reason,
		From: a.from, To: a.to, Data: data, Auth: task.AuthNone}
	switch {
	case a.by.Actor == engine.System:
		stored.Auth = task.AuthSystem
	case a.key != "":
		stored.Auth, stored.Key = task.AuthKey, a.key
	}
	return in.db.ActStore().AddActs(ctx, tx, []task.Act{stored})
}

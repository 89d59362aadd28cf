package inbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// act describes what an operator, a policy or a loop did to an object of the inbox, for the audit trail.
type act struct {
	kind          string // verb and object: discard_letter
	by            By
	namespace     string
	of            string // the object
	from, to      string // its states; "" where they do not matter
	data          any    // what the operator gave; nil for nothing
	before, after any    // the object, as far as the act changes it; nil where the states say it all
}

// written runs a transaction, and returns the object that it changes.
func written[T any](ctx context.Context, in *Inbox, fn func(context.Context, engine.Tx) (*T, error)) (*T, error) {
	var changed *T
	err := in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) (err error) {
		changed, err = fn(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// acting is written for somebody who acts.
func acting[T any](ctx context.Context, in *Inbox, by By, fn func(context.Context, engine.Tx, By) (*T, error)) (*T,
	error,
) {
	by, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	return written(ctx, in, func(ctx context.Context, tx engine.Tx) (*T, error) { return fn(ctx, tx, by) })
}

// act stores an act in the audit trail, in the transaction of what was done. The trail was made for tasks and has no
// column for the object, which is a member of the data.
func (in *Inbox) act(ctx context.Context, tx engine.Tx, a act) error {
	data, err := json.Marshal(struct {
		Object string `json:"object"`
		Input  any    `json:"input,omitempty"`
		Before any    `json:"before,omitempty"`
		After  any    `json:"after,omitempty"`
	}{a.of, a.data, a.before, a.after})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	stored := task.Act{At: in.now(), Namespace: a.namespace, Kind: a.kind, Actor: a.by.Actor, Reason: a.by.Reason,
		From: a.from, To: a.to, Data: data}
	engine.SignAct(&stored, a.by.key)
	return in.db.ActStore().AddActs(ctx, tx, []task.Act{stored})
}

package inbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// act describes what an operator, a policy or a loop did to an object of the inbox, for the audit trail. A verb fills
// it in step by step: what it is before the change, the states and the object after it.
type act struct {
	kind      string // verb and object: discard_letter
	by        By
	namespace string
	of        string // the object
	from, to  string // its states; "" where they do not matter
	data      any    // what the operator gave; nil for nothing
	// before and after are the object, as far as the act changes it; nil where the states say it all.
	before, after any
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

// versionRuns is how often a change that names no version is tried when others come first.
const versionRuns = 5

// versioned is written for an object of the version that fn reads. An act that names no version runs again when another
// change came first.
func versioned[T any](ctx context.Context, in *Inbox, by By, fn func(context.Context, engine.Tx) (*T, error)) (
	changed *T, err error,
) {
	runs := versionRuns
	if by.Version != 0 {
		runs = 1
	}
	err = onConflict(runs, func(int) error {
		changed, err = written(ctx, in, fn)
		return err
	})
	return changed, err
}

// acting is versioned for somebody who acts.
func acting[T any](ctx context.Context, in *Inbox, by By, fn func(context.Context, engine.Tx, By) (*T, error)) (*T,
	error,
) {
	by, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	return versioned(ctx, in, by, func(ctx context.Context, tx engine.Tx) (*T, error) { return fn(ctx, tx, by) })
}

// act stores an act in the audit trail, in the transaction of what was done: there is no change without its act, and no
// act of a change that was rolled back. The object has no column of its own, since the trail was made for tasks; it is
// a member of the data.
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

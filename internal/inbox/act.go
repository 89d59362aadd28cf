package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

type act struct {
	kind          string
	by            By
	namespace     string
	of            string
	from, to      string // states; "" where they do not matter
	data          any    // the operator's input; nil for none
	before, after any    // the object where its states do not say all
}

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

const versionRuns = 5

// versioned is written for an object that the caller expects in a version. Without one it runs again when another
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

func acting[T any](ctx context.Context, in *Inbox, by By, fn func(context.Context, engine.Tx, By) (*T, error)) (*T,
	error,
) {
	by, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	return versioned(ctx, in, by, func(ctx context.Context, tx engine.Tx) (*T, error) { return fn(ctx, tx, by) })
}

// act stores an act in the transaction of the change. The audit trail has no column for the object: it is a member of
// the data.
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

// fields is the audit trail's record of an object, without zero values, secrets and payloads: more people read the
// trail than a broker, and it is kept longer.
type fields map[string]any

func (f fields) MarshalJSON() ([]byte, error) {
	set := maps.Clone(map[string]any(f))
	maps.DeleteFunc(set, func(_ string, value any) bool {
		v := reflect.ValueOf(value)
		return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
	})
	return json.Marshal(set)
}

func recordOfGroup(g *deadletter.Group) fields {
	return fields{"owner": g.Owner, "runbook": g.Runbook, "due_at": g.DueAt.Ptr(), "resolved_in": g.ResolvedIn}
}

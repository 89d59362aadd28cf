package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Act is an entry of the audit trail in the making.
type Act struct {
	Kind          string
	By            By
	Namespace     string
	Of            string
	From, To      string // states; "" where they do not matter
	Data          any    // the operator's input; nil for none
	Before, After any    // the object where its states do not say all
}

// Written returns the object that fn changes in a transaction.
func Written[T any](ctx context.Context, in *Desk, fn func(context.Context, engine.Tx) (*T, error)) (*T, error) {
	var changed *T
	err := in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) (err error) {
		changed, err = fn(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// VersionRuns bounds the tries of a change while other changes come first.
const VersionRuns = 5

// Versioned is Written for an object that the caller expects in a version. Without one it runs again when another
// change came first.
func Versioned[T any](ctx context.Context, in *Desk, by By, fn func(context.Context, engine.Tx) (*T, error)) (
	changed *T, err error,
) {
	runs := VersionRuns
	if by.Version != 0 {
		runs = 1
	}
	err = OnConflict(runs, func(int) error {
		changed, err = Written(ctx, in, fn)
		return err
	})
	return changed, err
}

// Acting is Versioned for a change that an operator signs.
func Acting[T any](ctx context.Context, in *Desk, by By, fn func(context.Context, engine.Tx, By) (*T, error)) (*T,
	error,
) {
	by, err := Signed(ctx, by)
	if err != nil {
		return nil, err
	}
	return Versioned(ctx, in, by, func(ctx context.Context, tx engine.Tx) (*T, error) { return fn(ctx, tx, by) })
}

// Act stores an act in the transaction of the change. The audit trail has no column for the object: it is a member of
// the data.
func (in *Desk) Act(ctx context.Context, tx engine.Tx, a Act) error {
	data, err := json.Marshal(struct {
		Object string `json:"object"`
		Input  any    `json:"input,omitempty"`
		Before any    `json:"before,omitempty"`
		After  any    `json:"after,omitempty"`
	}{a.Of, a.Data, a.Before, a.After})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	stored := task.Act{At: in.Now(), Namespace: a.Namespace, Kind: a.Kind, Actor: a.By.Actor, Reason: a.By.Reason,
		From: a.From, To: a.To, Data: data}
	engine.SignAct(&stored, a.By.Key)
	return in.DB.ActStore().AddActs(ctx, tx, []task.Act{stored})
}

// Fields is the audit trail's record of an object, without zero values, secrets and payloads: more people read the
// trail than a broker, and it is kept longer.
type Fields map[string]any

// MarshalJSON implements json.Marshaler.
func (f Fields) MarshalJSON() ([]byte, error) {
	set := maps.Clone(map[string]any(f))
	maps.DeleteFunc(set, func(_ string, value any) bool {
		v := reflect.ValueOf(value)
		return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
	})
	return json.Marshal(set)
}

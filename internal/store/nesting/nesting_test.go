package nesting_test

import (
	"context"
	"errors"
	"testing"

	"github.com/taskerhq/tasker/internal/store/nesting"
)

func TestCheck(t *testing.T) {
	type name struct{}
	outer := context.WithValue(t.Context(), name{}, "outer")
	if err := nesting.Check(outer); err != nil {
		t.Errorf("before a transaction: %v", err)
	}
	tx := nesting.Enter(outer)
	inner, cancel := context.WithCancel(context.WithoutCancel(tx))
	defer cancel()
	for at, ctx := range map[string]context.Context{"its context": tx, "one derived from it": inner} {
		if err := nesting.Check(ctx); !errors.Is(err, nesting.Err) {
			t.Errorf("%s: %v, want %v", at, err, nesting.Err)
		}
	}
	if err := nesting.Check(outer); err != nil {
		t.Errorf("another caller's context: %v", err)
	}
	if tx.Value(name{}) != "outer" {
		t.Error("the transaction's context has lost a value")
	}
	tx.Leave()
	if err := nesting.Check(inner); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
}

package main

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

// Order is an event.
type Order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

func placed(_ context.Context, o Order) (string, error) {
	if o.Cents <= 0 {
		return "", worker.NonRetryable(&tasker.Failure{Code: "amount", Message: fmt.Sprintf("order %s has no amount", o.ID)})
	}
	fmt.Println("placed", o.ID)
	return "invoice for " + o.ID, nil
}

func cancelled(_ context.Context, o Order) (string, error) {
	fmt.Println("cancelled", o.ID)
	return "credit note for " + o.ID, nil
}

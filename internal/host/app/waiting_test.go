package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestDatabaseLostWhileWaiting stops PostgreSQL under a waiting poll and a waiting caller: both learn of it
// immediately, not at the end of their time.
func TestDatabaseLostWhileWaiting(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	n := runNode(t, server.DSN())
	ctx := t.Context()
	if _, err := n.RegisterTemplate(ctx, tasker.TemplateSource{YAML: "name: import\nversion: 1.0.0\nsteps:\n- {name: " +
		"load, handler: load}\n"}); err != nil {
		t.Fatal(err)
	}
	receipt, err := n.Submit(ctx, tasker.TaskRequest{Name: "import"})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := protocol.Of(n.Client).RegisterWorker(ctx,
		protocol.WorkerRegistration{Name: "w", Handlers: []string{"load"}})
	if err != nil {
		t.Fatal(err)
	}
	poll := func(ctx context.Context, wait time.Duration) (*protocol.PollResponse, error) {
		return protocol.Of(n.Client).Poll(ctx, protocol.PollRequest{WorkerID: worker.WorkerID, Capacity: 1,
			WaitMS: int(wait.Milliseconds()), Start: true})
	}
	if got, err := poll(ctx, time.Second); err != nil || len(got.Steps) != 1 {
		t.Fatalf("the poll for the only step there is was answered %+v, %v", got, err)
	}

	const wait = 30 * time.Second
	began := time.Now()
	calls := map[string]func() error{
		"poll":   func() error { _, err := poll(ctx, wait); return err },
		"caller": func() error { _, err := n.Backend.Task(ctx, receipt.TaskUUID, wait); return err },
	}
	type ending struct {
		who string
		err error
	}
	begun, ended := make(chan struct{}), make(chan ending, len(calls))
	for who, call := range calls {
		go func() {
			begun <- struct{}{}
			ended <- ending{who, call()}
		}()
		<-begun
	}
	// Claims are made in the order of polls: after these the waiting poll's claim is over, too. If not, it meets
	// the outage anyway.
	for range 10 {
		if _, err := poll(ctx, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Stop(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	for range calls {
		end := <-ended
		var e *tasker.Error
		if !errors.As(end.err, &e) || e.Code != tasker.CodeUnavailable || e.RetryAfter <= 0 {
			t.Errorf("the %s that waited ended with %v, want unavailable and when to come back", end.who, end.err)
		}
		if took := time.Since(began); took > wait/2 {
			t.Errorf("the %s that waited heard of the outage after %v", end.who, took)
		}
	}
}

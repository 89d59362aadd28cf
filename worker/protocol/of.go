package protocol

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Backend is a tasker.Backend that serves workers too. A test can embed it and define only the methods that it needs.
type Backend interface {
	tasker.Backend
	WorkerBackend
}

// Of returns the Backend of a Client with its worker methods; if it has none, they return CodeInvalid. A codec of the
// Client has no effect on them.
func Of(c *tasker.Client) Backend {
	if b, serves := c.Backend.(Backend); serves {
		return b
	}
	return unserved{c.Backend}
}

type unserved struct{ tasker.Backend }

var errUnserved = tasker.Errorf(tasker.CodeInvalid, "the Backend of the client serves no workers: "+
	"it lacks methods of protocol.WorkerBackend")

func (unserved) RegisterWorker(context.Context, WorkerRegistration) (*RegisteredWorker, error) {
	return nil, errUnserved
}
func (unserved) Workers(context.Context) ([]WorkerInfo, error)              { return nil, errUnserved }
func (unserved) Worker(context.Context, uuid.UUID) (*WorkerInfo, error)     { return nil, errUnserved }
func (unserved) Poll(context.Context, PollRequest) (*PollResponse, error)   { return nil, errUnserved }
func (unserved) Start(context.Context, StartRequest) ([]LeaseAnswer, error) { return nil, errUnserved }
func (unserved) Progress(context.Context, ProgressReport) (*LeaseAnswer, error) {
	return nil, errUnserved
}
func (unserved) Settle(context.Context, SettleRequest) ([]SettleAnswer, error) {
	return nil, errUnserved
}
func (unserved) Heartbeat(context.Context, Heartbeat) (*HeartbeatResponse, error) {
	return nil, errUnserved
}
func (unserved) Drain(context.Context, WorkerAct) (*DrainResponse, error) { return nil, errUnserved }
func (unserved) ResumeWorker(context.Context, WorkerAct) (*WorkerInfo, error) {
	return nil, errUnserved
}
func (unserved) CordonWorker(context.Context, WorkerAct) (*WorkerInfo, error) {
	return nil, errUnserved
}
func (unserved) UncordonWorker(context.Context, WorkerAct) (*WorkerInfo, error) {
	return nil, errUnserved
}

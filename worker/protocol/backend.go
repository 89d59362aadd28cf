package protocol

import (
	"context"

	"github.com/google/uuid"
)

// WorkerBackend is the part of a Backend about workers: the worker protocol. Package worker uses it;
// other programs need it only to write their own worker. docs/reference/worker-protocol.md describes
// the protocol and its time limits.
//
// Every method that names a worker returns CodeNotFound when the server does not know it, for
// example because it has deregistered. The worker then registers again under a new ID.
type WorkerBackend interface {
	// RegisterWorker registers a worker process and returns its ID, with the intervals and
	// limits that it must keep. A process that starts again registers again: IDs are never
	// reused.
	RegisterWorker(ctx context.Context, reg WorkerRegistration) (*RegisteredWorker, error)
	// Workers lists workers, including those that died within the last day.
	Workers(ctx context.Context) ([]WorkerInfo, error)
	// Worker returns one worker.
	Worker(ctx context.Context, id uuid.UUID) (*WorkerInfo, error)
	// Poll claims steps that the worker can run. It blocks for up to WaitMS milliseconds. It
	// returns at once when steps are ready, and with no steps when the time has passed. The
	// returned steps are leased to the worker, even if the response is lost; their leases then
	// expire.
	Poll(ctx context.Context, req PollRequest) (*PollResponse, error)
	// Start begins assigned steps and returns one answer per step, in request order. From then
	// on a step has its full lease and its timeout runs. A worker that polls with Start set
	// does not call it.
	Start(ctx context.Context, req StartRequest) ([]LeaseAnswer, error)
	// Progress records the progress of a step, which operators see, and renews its lease.
	Progress(ctx context.Context, report ProgressReport) (*LeaseAnswer, error)
	// Settle reports results in one transaction and returns one answer per result, in request
	// order. After a lost response, report again with the same tokens: a result that was stored
	// is then refused with CodeStaleToken and changes nothing.
	Settle(ctx context.Context, req SettleRequest) ([]SettleAnswer, error)
	// Heartbeat tells the server that the worker is alive, renews its leases, and returns which
	// of them are lost or cancelled.
	Heartbeat(ctx context.Context, beat Heartbeat) (*HeartbeatResponse, error)
	// Drain ends the intake of a worker, on its own request or an operator's.
	Drain(ctx context.Context, act WorkerAct) (*DrainResponse, error)
	// ResumeWorker revokes an operator's drain and returns the worker. CodeWrongState: the worker is dead.
	ResumeWorker(ctx context.Context, act WorkerAct) (*WorkerInfo, error)
	// CordonWorker stops handing steps to a worker, whatever its state, until UncordonWorker, and returns the worker.
	// It keeps the steps that it holds and need not end. A second cordon changes nothing.
	CordonWorker(ctx context.Context, act WorkerAct) (*WorkerInfo, error)
	// UncordonWorker reverts a cordon and returns the worker.
	UncordonWorker(ctx context.Context, act WorkerAct) (*WorkerInfo, error)
}

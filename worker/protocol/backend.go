package protocol

import (
	"context"

	"github.com/google/uuid"
)

// WorkerBackend is the worker protocol of a Backend, for package worker and for other implementations of a worker.
// docs/reference/worker-protocol.md describes it with its time limits.
//
// Every method that names a worker returns CodeNotFound if the server does not have it, for example after its
// deregistration. The worker then registers again under a new ID.
type WorkerBackend interface {
	// RegisterWorker returns the new worker's ID and the intervals and limits that it must keep. A restarted process
	// registers again: IDs are never reused.
	RegisterWorker(ctx context.Context, reg WorkerRegistration) (*RegisteredWorker, error)
	// Workers lists workers, including those that died within the last day.
	Workers(ctx context.Context) ([]WorkerInfo, error)
	// Worker returns one worker.
	Worker(ctx context.Context, id uuid.UUID) (*WorkerInfo, error)
	// Poll claims steps that the worker can run. It returns immediately when steps are ready, and else with none
	// after WaitMS milliseconds. Returned steps are leased to the worker, even if the response is lost; then the
	// leases expire.
	Poll(ctx context.Context, req PollRequest) (*PollResponse, error)
	// Start begins assigned steps and returns one answer per step, in request order. A started step has its full
	// lease, and its timeout runs. A poll with Start set includes it.
	Start(ctx context.Context, req StartRequest) ([]LeaseAnswer, error)
	// Progress records the progress of a step for operators, and renews its lease.
	Progress(ctx context.Context, report ProgressReport) (*LeaseAnswer, error)
	// Settle reports results in one transaction and returns one answer per result, in request order. After a lost
	// response, repeat it with the same tokens: a stored result is refused with CodeStaleToken and changes nothing.
	Settle(ctx context.Context, req SettleRequest) ([]SettleAnswer, error)
	// Heartbeat renews the worker's leases and returns those that are lost or cancelled.
	Heartbeat(ctx context.Context, beat Heartbeat) (*HeartbeatResponse, error)
	// Drain ends the intake of a worker, on its request or an operator's.
	Drain(ctx context.Context, act WorkerAct) (*DrainResponse, error)
	// ResumeWorker revokes an operator's drain. CodeWrongState: the worker is dead.
	ResumeWorker(ctx context.Context, act WorkerAct) (*WorkerInfo, error)
	// CordonWorker stops handing steps to a worker, whatever its state, until UncordonWorker. The worker keeps the
	// steps that it holds and need not end. A second cordon changes nothing.
	CordonWorker(ctx context.Context, act WorkerAct) (*WorkerInfo, error)
	// UncordonWorker reverts a cordon.
	UncordonWorker(ctx context.Context, act WorkerAct) (*WorkerInfo, error)
}

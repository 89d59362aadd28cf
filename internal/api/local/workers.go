package local

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// RegisterWorker implements protocol.WorkerBackend.
// The answer has all intervals and limits that a worker must keep, so that a worker needs no configuration.
// Each call registers another worker. CodeInvalid: every problem at its field.
func (b *Backend) RegisterWorker(ctx context.Context, reg protocol.WorkerRegistration) (*protocol.RegisteredWorker,
	error) {
	transport, ok := task.TransportNamed(reg.Transport)
	if !ok {
		transport = task.Transport(reg.Transport) // the engine refuses it, with all other problems
	}
	served, err := servedNamespaces(reg.Namespaces)
	if err != nil {
		return nil, err
	}
	w, err := b.engine.Register(ctx, task.Worker{Name: reg.Name, Namespaces: served, Handlers: reg.Handlers,
		Capabilities: reg.Capabilities, Capacity: reg.Capacity, Host: reg.Host, Version: reg.Version,
		HealthURL: reg.HealthURL, Transport: transport})
	if err != nil {
		return nil, ToError(err)
	}
	cfg := b.engine.Config()
	return &protocol.RegisteredWorker{WorkerID: toUUID(w.ID), Queue: b.engine.QueueOf(w),
		PollIntervalMS:      int(cfg.Leases.PollInterval.Milliseconds()),
		PollIntervalSeconds: cfg.Leases.PollInterval.Seconds(),
		HeartbeatIntervalMS: int(cfg.Leases.HeartbeatInterval.Milliseconds()),
		LeaseSeconds:        int(cfg.Leases.Lease().Seconds()), StartTimeoutSeconds: int(cfg.Leases.StartTimeout.Seconds()),
		MaxLongPollSeconds: int(cfg.Leases.MaxLongPoll.Seconds()), MaxResultPayloadBytes: cfg.Limits.PayloadBytes,
		MaxLargeResultBytes: b.engine.MaxLargeResult(), MaxLogBytes: max(cfg.Limits.LogBytes, 0),
		Namespaces:            shownNamespaces(w.Namespaces),
		DefaultTimeoutSeconds: int(b.engine.DefaultTimeout().Seconds())}, nil
}

// servedNamespaces returns the engine's form, in which none is all. A worker that names none serves the default
// namespace alone: a handler of the same name elsewhere is another one.
func servedNamespaces(named []string) ([]string, error) {
	switch {
	case len(named) == 0:
		return []string{engine.DefaultNamespace}, nil
	case !slices.Contains(named, protocol.AllNamespaces):
		return named, nil
	case len(named) == 1:
		return nil, nil
	}
	return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: "the registration is invalid",
		Details: []tasker.Detail{{Location: "/namespaces", Message: `"*" stands alone: it is all namespaces`}}}
}

func shownNamespaces(served []string) []string {
	if len(served) == 0 {
		return []string{protocol.AllNamespaces}
	}
	return served
}

// deadShown is how long lists show dead workers: those of a night are visible in the morning.
const deadShown = 24 * time.Hour

// Workers implements protocol.WorkerBackend.
// It lists all workers at once with their loads, which takes a query for the workers and a count of the leases;
// WorkerPage suits large fleets.
func (b *Backend) Workers(ctx context.Context) ([]protocol.WorkerInfo, error) {
	list, err := b.engine.Workers(ctx, deadShown)
	if err != nil {
		return nil, ToError(err)
	}
	loads, err := b.engine.Loads(ctx)
	if err != nil {
		return nil, ToError(err)
	}
	out := make([]protocol.WorkerInfo, len(list))
	for i, w := range list {
		out[i] = b.fromWorker(w)
		out[i].CurrentLoad = loads[w.No]
	}
	return out, nil
}

// WorkerPage returns a page of Workers, and the cursor of the next one, "" at the end.
// CodeInvalid: the limit is out of bounds, or the cursor is not one of this list. Loads are not counted.
func (b *Backend) WorkerPage(ctx context.Context, cursor string, limit int) ([]protocol.WorkerInfo, string, error) {
	behind := int64(0)
	if cursor != "" {
		no, err := strconv.ParseInt(cursor, 10, 64)
		if err != nil || no < 1 {
			return nil, "", noCursor("cursor")
		}
		behind = no
	}
	list, next, err := b.engine.ListWorkers(ctx, deadShown, behind, limit)
	if err != nil {
		return nil, "", ToError(err)
	}
	out := make([]protocol.WorkerInfo, len(list))
	for i, w := range list {
		out[i] = b.fromWorker(w)
	}
	if next == 0 {
		return out, "", nil
	}
	return out, strconv.FormatInt(next, 10), nil
}

// Worker implements protocol.WorkerBackend.
// CodeNotFound: the worker is unknown, and must register. A dead worker is still found until its row is deleted.
func (b *Backend) Worker(ctx context.Context, id uuid.UUID) (*protocol.WorkerInfo, error) {
	w, err := b.engine.Worker(ctx, toID(id))
	return b.withLoad(ctx, w, err)
}

// withLoad returns a worker with its load, unless there was an error.
// CurrentTasks repeats the load under the name that the queue API uses.
func (b *Backend) withLoad(ctx context.Context, w *task.Worker, err error) (*protocol.WorkerInfo, error) {
	if err != nil {
		return nil, ToError(err)
	}
	loads, err := b.engine.Loads(ctx)
	if err != nil {
		return nil, ToError(err)
	}
	info, held := b.fromWorker(w), loads[w.No]
	info.CurrentLoad, info.CurrentTasks = held, &held
	return &info, nil
}

// Registered is Worker without the load, which has to be counted: for callers at every poll.
// It usually answers from the cache of the engine, without a query.
func (b *Backend) Registered(ctx context.Context, id uuid.UUID) (*protocol.WorkerInfo, error) {
	return as(func(w *task.Worker) *protocol.WorkerInfo {
		info := b.fromWorker(w)
		return &info
	})(b.engine.ReachedWorker(ctx, toID(id)))
}

// HeldTasks returns the namespace and state of each task, in order, and a worker's leases on its steps; nil for a
// missing task. The compatibility routes name tasks instead of leases. The number of queries does not depend on the
// number of tasks. CodeNotFound: the worker is unknown.
func (b *Backend) HeldTasks(ctx context.Context, worker uuid.UUID, tasks []uuid.UUID) ([]*queueapi.HeldTask, error) {
	held, err := b.engine.HeldOf(ctx, toID(worker), toIDs(tasks))
	if err != nil {
		return nil, ToError(err)
	}
	out := make([]*queueapi.HeldTask, len(held))
	for i, h := range held {
		if h.Template == nil {
			continue
		}
		out[i] = &queueapi.HeldTask{Namespace: h.Template.Namespace, State: tasker.TaskState(h.Task.State)}
		for _, l := range h.Leases {
			out[i].Leases = append(out[i].Leases, protocol.LeaseRef{StepUUID: toUUID(l.Step), Token: l.Token})
		}
	}
	return out, nil
}

// ResumeWorker implements protocol.WorkerBackend.
// CodeWrongState: the worker is dead, and only its own next call makes it active.
func (b *Backend) ResumeWorker(ctx context.Context, act protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	w, err := b.engine.ResumeWorker(ctx, toID(act.WorkerID), engine.WorkerAct{Actor: act.By, Reason: act.Reason})
	return b.withLoad(ctx, w, err)
}

// CordonWorker implements protocol.WorkerBackend.
// CodeNotFound: the worker is unknown.
func (b *Backend) CordonWorker(ctx context.Context, act protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	w, err := b.engine.Cordon(ctx, toID(act.WorkerID), engine.WorkerAct{Actor: act.By, Reason: act.Reason})
	return b.withLoad(ctx, w, err)
}

// UncordonWorker implements protocol.WorkerBackend.
// CodeNotFound: the worker is unknown.
func (b *Backend) UncordonWorker(ctx context.Context, act protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	w, err := b.engine.Uncordon(ctx, toID(act.WorkerID), engine.WorkerAct{Actor: act.By, Reason: act.Reason})
	return b.withLoad(ctx, w, err)
}

// fromWorker converts a worker without its load, which has to be counted.
// ConsecutiveFailures is what this process has seen; another node may have counted others.
func (b *Backend) fromWorker(w *task.Worker) protocol.WorkerInfo {
	w, damage := w.Shown()
	info := protocol.WorkerInfo{Damage: damage, WorkerID: toUUID(w.ID), Name: w.Name, State: string(w.State),
		Namespaces: shownNamespaces(w.Namespaces), Handlers: w.Handlers, Capabilities: w.Capabilities, Capacity: w.Capacity,
		ReportedLoad: w.Load, Host: w.Host, Version: w.Version, StartedAt: w.StartedAt.Time(),
		LastHeartbeat: w.LastHeartbeat.Time(), HealthURL: w.HealthURL, HealthFailures: w.ProbeFailures,
		HealthError: w.ProbeError, Breaker: string(b.engine.BreakerOf(w)), BreakerOpenedAt: w.BrokenAt.Ptr(),
		Transport: w.Transport.Word(), Cordoned: w.Cordoned(), CordonedAt: w.CordonedAt.Ptr(), CordonedBy: w.CordonedBy,
		CordonReason: w.CordonReason, DrainsItself: w.DrainsItself(), DrainedAt: w.DrainedAt.Ptr(), DrainedBy: w.DrainedBy,
		DrainReason: w.DrainReason}
	health, why := b.engine.HealthOf(w)
	info.Health, info.HealthReasons = string(health), why
	if n := b.engine.FailuresOf(w); n > 0 {
		info.ConsecutiveFailures = &n
	}
	return info
}

// Poll implements protocol.WorkerBackend.
// It blocks up to WaitMS, cut to Leases.MaxLongPoll, and returns early with steps, a drain or an error. A capacity
// below 1 counts as 1. CodeNotFound: the worker is unknown and must register. CodeUnavailable: the store was lost
// meanwhile.
func (b *Backend) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	leases, drain, err := b.engine.Poll(ctx, toID(req.WorkerID), max(req.Capacity, 1), times(req.WaitMS, time.Millisecond),
		req.Start)
	if err != nil {
		return nil, ToError(err)
	}
	out := &protocol.PollResponse{Steps: make([]protocol.Assignment, len(leases)), ShouldDrain: drain}
	for i := range leases {
		if out.Steps[i], err = b.fromLease(&leases[i]); err != nil {
			return nil, err
		}
	}
	out.BreakerNote = b.breakerNote(ctx, req.WorkerID)
	return out, nil
}

// breakerNote returns the recently cached state of a worker's circuit breaker.
// An error leaves it out: it tells a worker why it gets nothing, and decides nothing.
func (b *Backend) breakerNote(ctx context.Context, id uuid.UUID) protocol.BreakerNote {
	w, err := b.engine.Worker(ctx, toID(id))
	if err != nil {
		return protocol.BreakerNote{} // the answer itself is valid
	}
	state, until := b.engine.BreakerUntil(w)
	if state == task.BreakerClosed {
		return protocol.BreakerNote{}
	}
	return protocol.BreakerNote{Breaker: string(state), BreakerUntil: until.Ptr()}
}

// fromLease converts a lease to what the worker receives. A parent without a result has the
// result null.
// Attempt is the number of the attempt that begins with the start, also for a step that is only assigned yet.
func (b *Backend) fromLease(l *engine.Lease) (protocol.Assignment, error) {
	s, spec := &l.Step, l.Template.Spec(&l.Step)
	attempt := s.Attempts
	if s.State == task.StepAssigned {
		attempt++
	}
	a := protocol.Assignment{StepUUID: toUUID(s.ID), TaskUUID: toUUID(s.TaskID), Token: b.engine.Token(s),
		State: tasker.StepState(s.State), Namespace: l.Template.Namespace, TaskName: l.Template.Name,
		Version: l.Template.Version, StepName: spec.Name, Handler: spec.Handler, Attempt: attempt,
		MaxAttempts: s.MaxAttempts, Priority: s.Priority, Parameters: l.Task.Context, Checkpoint: l.Checkpoint,
		CorrelationID: l.Task.CorrelationID, TraceParent: l.TraceParent, TimeoutSeconds: int(s.Timeout / time.Second),
		LeaseExpiresAt: s.LeaseUntil.Time(), DeadlineAt: s.Deadline().Ptr()}
	if l.ParentResults != nil {
		a.ParentResults = make(map[string]json.RawMessage, len(l.ParentResults))
		for name, result := range l.ParentResults {
			if result == nil {
				result = []byte("null")
			}
			a.ParentResults[name] = result
		}
	}
	for name, large := range l.LargeParents {
		if a.LargeResults == nil {
			a.LargeResults = make(map[string]tasker.LargeResult, len(l.LargeParents))
		}
		a.LargeResults[name] = *fromLarge(large)
	}
	var err error
	a.Initialization, err = initialization(spec)
	return a, err
}

// toRefs decodes the tokens of a worker. nil stays nil: in a heartbeat it means all leases.
// A token of another form, of another worker or of another database is not an error here: the engine answers that lease
// with CodeStaleToken, like any lost one.
func (b *Backend) toRefs(refs []protocol.LeaseRef, worker int64) []engine.LeaseRef {
	if refs == nil {
		return nil
	}
	out := make([]engine.LeaseRef, len(refs))
	for i, r := range refs {
		out[i] = b.engine.LeaseOf(toID(r.StepUUID), worker, r.Token)
	}
	return out
}

// fromAnswers converts answers, in order.
// A lost lease is an Error of its answer and not of the call.
func fromAnswers(answers []engine.LeaseAnswer) []protocol.LeaseAnswer {
	return each(answers, fromAnswer)
}

func fromAnswer(a *engine.LeaseAnswer) protocol.LeaseAnswer {
	return protocol.LeaseAnswer{StepUUID: toUUID(a.Step), Status: string(a.Status), LeaseExpiresAt: a.LeaseUntil.Ptr(),
		DeadlineAt: a.DeadlineAt.Ptr(), Error: itemError(a.Err)}
}

// Start implements protocol.WorkerBackend.
// Repeating a start under the same token is harmless, so a worker may retry it.
func (b *Backend) Start(ctx context.Context, req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
	worker, err := b.known(ctx, req.WorkerID)
	if err != nil {
		return nil, err
	}
	return as(fromAnswers)(b.engine.Start(ctx, b.toRefs(req.Steps, worker)))
}

// Progress implements protocol.WorkerBackend.
// It renews the lease too. A lost lease is in the answer; CodeInvalid: the percentage, the text or the checkpoint is
// out of bounds.
func (b *Backend) Progress(ctx context.Context, r protocol.ProgressReport) (*protocol.LeaseAnswer, error) {
	worker, err := b.known(ctx, r.WorkerID)
	if err != nil {
		return nil, err
	}
	answer, err := b.engine.Report(ctx, b.engine.LeaseOf(toID(r.StepUUID), worker, r.Token),
		engine.Progress{Percent: r.ProgressPercent, Note: r.StatusMessage, Checkpoint: r.Checkpoint})
	if err != nil {
		return nil, ToError(err)
	}
	out := fromAnswer(&answer)
	return &out, nil
}

// Settle implements protocol.WorkerBackend.
// It blocks until the results are durable. CodeInvalid: one result is malformed, and none is stored. A lost lease is in
// its answer, with CodeStaleToken.
func (b *Backend) Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	worker, err := b.known(ctx, req.WorkerID)
	if err != nil {
		return nil, err
	}
	results := make([]engine.Result, len(req.Results))
	for i, r := range req.Results {
		lease := b.engine.LeaseOf(toID(r.StepUUID), worker, r.Token)
		// The cut avoids an overflow, and stays above the longest delay, so that the engine refuses an excessive
		// snooze.
		snooze := time.Duration(min(r.SnoozeSeconds, 2*task.MaxDelay.Seconds()) * float64(time.Second))
		results[i] = engine.Result{Step: lease.Step, Token: lease.Token, Worker: worker, At: lease.At,
			Status: engine.ResultStatus(r.Status), Result: r.Result, Large: r.LargeResult, Failure: toFailure(r.Error),
			Snooze: snooze, Log: r.Log, LogBytes: r.LogBytes}
	}
	answers, err := b.engine.Settle(ctx, results)
	if err != nil {
		return nil, ToError(err)
	}
	out := make([]protocol.SettleAnswer, len(answers))
	for i, a := range answers {
		out[i] = protocol.SettleAnswer{StepUUID: toUUID(a.Step), State: tasker.StepState(a.State),
			NextRetryAt: a.NextRetryAt.Ptr(), Error: itemError(a.Err)}
	}
	return out, nil
}

// Heartbeat implements protocol.WorkerBackend.
// Without Steps it renews all leases of the worker. ShouldDrain asks it to claim no more and finish what it holds.
func (b *Backend) Heartbeat(ctx context.Context, beat protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
	worker, err := b.known(ctx, beat.WorkerID)
	if err != nil {
		return nil, err
	}
	answers, drain, err := b.engine.Heartbeat(ctx, engine.Beat{Worker: toID(beat.WorkerID), Load: beat.CurrentLoad,
		Draining: beat.Status == string(task.WorkerDraining), Leases: b.toRefs(beat.Steps, worker)})
	if err != nil {
		return nil, ToError(err)
	}
	return &protocol.HeartbeatResponse{Acknowledged: true, ShouldDrain: drain, Leases: fromAnswers(answers),
		BreakerNote: b.breakerNote(ctx, beat.WorkerID)}, nil
}

// Drain implements protocol.WorkerBackend.
// Released counts the steps that a final drain gave back without charging an attempt; another drain releases none.
func (b *Backend) Drain(ctx context.Context, act protocol.WorkerAct) (*protocol.DrainResponse, error) {
	n, err := b.engine.Drain(ctx, toID(act.WorkerID), act.Final,
		engine.WorkerAct{Actor: act.By, Reason: act.Reason})
	if err != nil {
		return nil, ToError(err)
	}
	return &protocol.DrainResponse{Released: n}, nil
}

// known returns the number of a worker, which is part of a token.
func (b *Backend) known(ctx context.Context, id uuid.UUID) (int64, error) {
	w, err := b.engine.ReachedWorker(ctx, toID(id))
	if err != nil {
		return 0, ToError(err)
	}
	return w.No, nil
}

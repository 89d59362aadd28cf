package cases

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A snapshot is the JSON state of a stuck task: all that an operator needs, without another query. It is evidence, so
// it never changes. Large parts are cut.

// Limits of the parts of a snapshot, in bytes.
const (
	snapshotContext = 16 << 10
	snapshotText    = 4 << 10
	// snapshotErrors bounds all failures together; above it only the beginnings of messages remain.
	snapshotErrors = 256 << 10
	// See snapshot.bounded.
	snapshotBytes = 512 << 10
)

// operate.CaseSnapshot is the public form, which the engine does not import; TestSnapshotIsWhatClientsRead compares
// the two.
type snapshot struct {
	TaskUUID           string          `json:"task_uuid"`
	Namespace          string          `json:"namespace"`
	TaskName           string          `json:"task_name"`
	Version            string          `json:"version"`
	CurrentState       task.State      `json:"current_state"`
	TimeInStateMinutes float64         `json:"time_in_state_minutes"`
	ThresholdMinutes   float64         `json:"threshold_minutes,omitempty"`
	TaskAgeMinutes     float64         `json:"task_age_minutes"`
	Priority           string          `json:"priority"`
	CorrelationID      string          `json:"correlation_id,omitempty"`
	Context            json.RawMessage `json:"context,omitempty"`
	CreatedAt          time.Time       `json:"created_at"`
	DetectedAt         time.Time       `json:"detection_time"`
	Reason             task.CaseReason `json:"dlq_reason"`
	Detail             string          `json:"detail,omitempty"`
	Template           json.RawMessage `json:"template,omitempty"`
	Steps              []snapshotStep  `json:"steps"`
	StepsOmitted       int             `json:"steps_omitted,omitempty"`
}

type snapshotStep struct {
	StepUUID      string           `json:"step_uuid"`
	Name          string           `json:"name"`
	CurrentState  task.StepState   `json:"current_state"`
	Attempts      int              `json:"attempts"`
	MaxAttempts   int              `json:"max_attempts"`
	Dependencies  []string         `json:"dependencies,omitempty"`
	Worker        string           `json:"worker,omitempty"`
	ReadyAt       *time.Time       `json:"ready_at,omitempty"`
	StartedAt     *time.Time       `json:"started_at,omitempty"`
	NextRetryAt   *time.Time       `json:"next_retry_at,omitempty"`
	LastFailureAt *time.Time       `json:"last_failure_at,omitempty"`
	LastError     *snapshotFailure `json:"last_error,omitempty"`
}

// Texts are cut; see snapshotText.
type snapshotFailure struct {
	Type              string          `json:"error_type,omitempty"`
	Message           string          `json:"message"`
	Stack             string          `json:"stack_trace,omitempty"`
	Code              string          `json:"code,omitempty"`
	HTTPStatus        int             `json:"http_status,omitempty"`
	ResponseBody      string          `json:"response_body,omitempty"`
	Retryable         bool            `json:"retryable"`
	Class             failure.Class   `json:"class,omitempty"`
	RetryAfterSeconds float64         `json:"retry_after_seconds,omitempty"`
	Details           json.RawMessage `json:"details,omitempty"`
}

type snapshotter struct {
	u         *kernel.Unit
	evidence  map[task.ID]kernel.Evidence
	ending    map[task.ID]*task.Attempt // not stored yet
	templates map[int64]json.RawMessage
}

// newSnapshotter takes two queries at most, for any number of tasks.
func newSnapshotter(u *kernel.Unit, list []*Opening) (*snapshotter, error) {
	families := make([]kernel.Family, len(list))
	ids := make([]task.ID, len(list))
	for i, o := range list {
		ids[i] = o.Task.ID
		families[i] = kernel.Family{Task: o.Task.ID}
	}
	if err := u.Rows.Gather(families); err != nil {
		return nil, err
	}
	c := &snapshotter{u: u, ending: map[task.ID]*task.Attempt{}, templates: map[int64]json.RawMessage{}}
	for i := range u.Records.Attempts {
		if a := &u.Records.Attempts[i]; a.Failure != nil {
			c.ending[a.StepID] = a
		}
	}
	var err error
	c.evidence, err = u.E.Evidences.Evidence(u.Ctx, u.Tx, ids)
	return c, err
}

// def may be a stand-in: then steps have no names.
func (c *snapshotter) snapshot(o *Opening, def *task.Template) ([]byte, error) {
	u := c.u
	t, _ := o.Task.Shown() // a damaged row is evidence too
	template, err := c.template(def)
	if err != nil {
		return nil, err
	}
	e := c.evidence[t.ID]
	s := snapshot{TaskUUID: t.ID.String(), Namespace: def.Namespace, TaskName: def.Name, Version: def.Version,
		CurrentState: o.State, TimeInStateMinutes: minutes(u.Now.Sub(o.Since)), ThresholdMinutes: minutes(o.Threshold),
		TaskAgeMinutes: minutes(u.Now.Sub(t.CreatedAt)), Priority: u.E.PriorityName(t.Priority),
		CorrelationID: t.CorrelationID,
		Context:       cutJSON(e.Context, snapshotContext), CreatedAt: t.CreatedAt.Time(), DetectedAt: u.Now.Time(),
		Reason: o.Reason, Detail: o.Detail, Template: template}
	failures := c.failures(e)
	budget := snapshotErrors
	for _, row := range u.Rows.Families[t.ID] {
		step, _ := row.Shown(def)
		s.Steps = append(s.Steps, c.step(step, def.Spec(step), failures[step.ID], &budget))
	}
	b, err := s.bounded()
	if err != nil {
		return nil, fmt.Errorf("encode snapshot of task %s: %w", t.ID, err)
	}
	return b, nil
}

func (c *snapshotter) failures(e kernel.Evidence) map[task.ID]*task.Attempt {
	last := make(map[task.ID]*task.Attempt, len(e.Failures))
	for i := range e.Failures {
		last[e.Failures[i].StepID] = &e.Failures[i]
	}
	return last
}

func (c *snapshotter) step(s *task.Step, spec task.StepSpec, failed *task.Attempt, budget *int) snapshotStep {
	out := snapshotStep{StepUUID: s.ID.String(), Name: spec.Name, CurrentState: s.State, Attempts: s.Attempts,
		MaxAttempts:  s.MaxAttempts,
		Dependencies: spec.Dependencies, Worker: c.u.WorkerName(s.WorkerNo), ReadyAt: s.ReadyAt.Ptr(),
		StartedAt: s.StartedAt.Ptr()}
	if s.Queue == task.Timers {
		out.NextRetryAt = task.Instant(s.Key).Ptr()
	}
	if a := c.ending[s.ID]; a != nil {
		failed = a
	}
	if failed != nil {
		out.LastFailureAt = failed.FinishedAt.Ptr()
		out.LastError = shownFailure(failed.Failure, budget)
	}
	return out
}

// Failure.Trim has cut the texts before.
func shownFailure(f *task.Failure, budget *int) *snapshotFailure {
	out := &snapshotFailure{Type: f.Type, Code: f.Code, HTTPStatus: f.HTTPStatus, Retryable: f.Retryable, Class: f.Class,
		RetryAfterSeconds: float64(f.RetryAfterMS) / 1000}
	if *budget <= 0 {
		out.Message = failure.Cut(f.Message, 255)
		return out
	}
	out.Message, out.Stack, out.ResponseBody = failure.Cut(f.Message, snapshotText), failure.Cut(f.Stack, snapshotText),
		failure.Cut(f.ResponseBody, snapshotText)
	out.Details = cutJSON(f.Details, snapshotText)
	*budget -= len(out.Message) + len(out.Stack) + len(out.ResponseBody) + len(out.Details)
	return out
}

// cutJSON returns a document, or its beginning as a text if it is too long or invalid.
func cutJSON(document []byte, limit int) json.RawMessage {
	if len(document) <= limit && task.JSONFault(document, limit) == "" {
		return document
	}
	b, err := json.Marshal(failure.Cut(string(document), limit))
	if err != nil { // a text always marshals
		return nil
	}
	return b
}

func minutes(d time.Duration) float64 {
	m, err := strconv.ParseFloat(strconv.FormatFloat(d.Round(time.Second).Minutes(), 'f', 2, 64), 64)
	if err != nil {
		return d.Minutes()
	}
	return m
}

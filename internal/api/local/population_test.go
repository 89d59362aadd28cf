package local_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

// The templates of a population differ in their thresholds, and in how their tasks get stuck.
var populated = []string{
	`
name: plain
version: "1"
steps:
  - name: a
    handler: h
    retry: {max_attempts: 3, backoff: fixed, backoff_base_ms: 3000000, jitter: 0}
    timeout_seconds: 86400
  - {name: b, handler: h, dependencies: [a], timeout_seconds: 86400}
`, `
name: patient
version: "2"
description: waits for long
lifecycle: {max_waiting_for_dependencies_minutes: 90, max_waiting_for_retry_minutes: 45, max_steps_in_process_minutes: 120, max_duration_minutes: 300}
input_schema: {type: object}
steps:
  - name: only
    handler: {callable: h, initialization: {size: 3}}
    retry: {max_attempts: 4, backoff: fixed, backoff_base_ms: 3600000, jitter: 0, limits: {resource: 2, logic: 0}}
    timeout_seconds: 86400
`, `
name: hasty
version: "1"
namespace_name: busy
lifecycle: {max_waiting_for_retry_minutes: 1, max_steps_in_process_minutes: 2}
steps:
  - name: a
    handler: h
    retry: {max_attempts: 2, backoff: fixed, backoff_base_ms: 1800000, jitter: 0}
    timeout_seconds: 86400
  - {name: b, handler: h, dependencies: [a], timeout_seconds: 86400}
  - {name: c, handler: h, dependencies: [a], timeout_seconds: 86400}
  - {name: d, handler: h, dependencies: [b, c], timeout_seconds: 86400}
`}

var untouched = []string{`
name: undoing
version: "1"
lifecycle: {max_steps_in_process_minutes: 3}
steps:
  - {name: book, handler: book}
  - {name: fail, handler: book, dependencies: [book], retry: {retryable: false}}
on_failure:
  - {name: unbook, handler: nobody, dependencies: [book]}
`, `
name: asking
version: "1"
steps:
  - {name: ask, wait: {approval: "ok?"}}
`}

// cyclic cannot be registered: behind "go", two steps wait for each other.
const cyclic = `{"lifecycle":{"MaxWaitingForDependencies":0,"MaxWaitingForRetry":0,"MaxStepsInProcess":0,"MaxDuration":0},"steps":[
 {"name":"go","handler":"h","retry":{"Retryable":true,"MaxAttempts":0,"Backoff":"fixed","Base":1000000000,"Max":0,"Jitter":0}},
 {"name":"hen","handler":"h","dependencies":["egg"],"retry":{"Retryable":true,"MaxAttempts":0,"Backoff":"fixed","Base":1000000000,"Max":0,"Jitter":0}},
 {"name":"egg","handler":"h","dependencies":["go","hen"],"retry":{"Retryable":true,"MaxAttempts":0,"Backoff":"fixed","Base":1000000000,"Max":0,"Jitter":0}}]}`

const insertCyclic = `INSERT INTO @.tasker_templates (namespace, name, version, adhoc, fingerprint, created_at, source, body)
 VALUES ('default', 'ring', '1', 0, '', 1, '', $1)`

// strand leaves tasks of the cyclic template as another program might: the rest waits for parents that never finish.
// The engine ends such tasks immediately.
var strand = []string{
	`UPDATE @.tasker_tasks SET state = 'waiting_for_dependencies', state_at = created_at, steps_active = 0, steps_done = 1
 WHERE state = 'steps_in_process' AND def_id = (SELECT def_id FROM @.tasker_templates WHERE name = 'ring')
 AND id IN (SELECT task_id FROM @.tasker_workflow_steps WHERE ordinal = 1 AND state = 'enqueued')`,
	`UPDATE @.tasker_workflow_steps SET open_parents = 1
 WHERE ordinal = 3 AND task_id IN (SELECT id FROM @.tasker_tasks WHERE state = 'waiting_for_dependencies')`,
	`UPDATE @.tasker_workflow_steps SET state = 'complete', queue = NULL, key = NULL, finished_at = ready_at
 WHERE ordinal = 1 AND task_id IN (SELECT id FROM @.tasker_tasks WHERE state = 'waiting_for_dependencies')`,
}

type population struct {
	*rig
	t      *testing.T
	random *rand.Rand
	tasks  []uuid.UUID
	held   []protocol.Assignment
}

// populate plays six hours, the same for the same seed. The worker stays alive, and keeps its steps until it reports on
// them.
func populate(t *testing.T, r *rig, seed uint64, moves int) *population {
	t.Helper()
	p := &population{rig: r, t: t, random: rand.New(rand.NewPCG(seed, 7))}
	for _, yaml := range populated {
		r.template(t, yaml)
	}
	for range moves {
		p.silent(time.Duration(p.random.IntN(int(12*time.Hour) / moves)))
		p.beat()
		p.move()
	}
	p.leaveAlone()
	return p
}

// leaveAlone submits untouched tasks: two whose compensation waits for a worker, with the template's threshold and with
// the general one, and one that waits for a decision. The template's threshold passes.
func (p *population) leaveAlone() {
	p.t.Helper()
	for _, yaml := range append(untouched, strings.Replace(untouched[0],
		"version: \"1\"\nlifecycle: {max_steps_in_process_minutes: 3}", "version: \"2\"", 1)) {
		p.template(p.t, yaml)
	}
	booker := p.join(p.t, protocol.WorkerRegistration{Name: "booker", Handlers: []string{"book"}})
	for _, req := range []tasker.TaskRequest{{Name: "undoing", Version: "1"}, {Name: "undoing", Version: "2"},
		{Name: "asking"}} {
		id := p.submit(p.t, req)
		for _, res := range []protocol.StepResult{completed(`{}`), failed("it is full", true)} {
			if req.Name == "asking" {
				break
			}
			resp, err := protocol.Of(p.rig.Client).Poll(p.t.Context(), protocol.PollRequest{WorkerID: booker, Start: true})
			if err != nil || len(resp.Steps) != 1 {
				p.t.Fatalf("task %s: the booker gets %v, %v", id, resp.Steps, err)
			}
			res.StepUUID, res.Token = resp.Steps[0].StepUUID, resp.Steps[0].Token
			if _, err := protocol.Of(p.rig.Client).Settle(p.t.Context(), protocol.SettleRequest{WorkerID: booker,
				Results: []protocol.StepResult{res}}); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if err := p.b.RunOnce(p.t.Context()); err != nil { // it begins to wait
		p.t.Fatal(err)
	}
	p.silent(4 * time.Minute)
	p.beat()
}

func (p *population) beat() {
	p.t.Helper()
	if _, err := protocol.Of(p.rig.Client).Heartbeat(p.t.Context(), protocol.Heartbeat{WorkerID: p.worker}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *population) move() {
	p.t.Helper()
	switch n := p.random.IntN(20); {
	case n < 7:
		p.submitOne()
	case n < 12:
		p.claim()
	case n < 16:
		p.settle()
	case n < 17:
		p.cancelOne()
	case n < 18:
		p.investigate()
	default:
		if err := p.b.RunOnce(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *population) submitOne() {
	p.t.Helper()
	req := tasker.TaskRequest{Context: []byte(fmt.Sprintf(`{"n": %d, "text": "grüß \u0000 dich"}`, len(p.tasks)))}
	switch p.random.IntN(6) {
	case 0:
		req.TaskType = "h"
	case 1:
		req.Name, req.Priority = "plain", tasker.Level(p.random.IntN(101))
	case 2:
		req.Name, req.CorrelationID = "patient", "order 7"
	case 3:
		req.Name, req.Namespace, req.Priority = "hasty", "busy", tasker.High
	case 4:
		at := p.clock().Add(time.Duration(p.random.IntN(int(time.Hour))))
		req.Name, req.RunAt, req.Tags = "plain", &at, []string{"later"}
	case 5:
		req.Name = "ring"
	}
	p.tasks = append(p.tasks, p.submit(p.t, req))
}

func (p *population) claim() {
	p.t.Helper()
	resp, err := protocol.Of(p.rig.Client).Poll(p.t.Context(),
		protocol.PollRequest{WorkerID: p.worker, Start: p.random.IntN(3) > 0})
	if err != nil {
		p.t.Fatal(err)
	}
	p.held = append(p.held, resp.Steps...)
}

func (p *population) settle() {
	p.t.Helper()
	if len(p.held) == 0 {
		return
	}
	i := p.random.IntN(len(p.held))
	a := p.held[i]
	p.held = append(p.held[:i], p.held[i+1:]...)
	res := completed(`{"ok": true}`)
	switch p.random.IntN(5) {
	case 0:
		res = failed("it broke\x00 for good", true)
	case 1:
		res = failed("it broke", false)
		res.Error.Code, res.Error.HTTPStatus, res.Error.Details, res.Error.Stack = "E7", 503, []byte(`{"row": 9}`),
			"at line 1"
		res.Error.RetryAfterSeconds = 2000
	case 2:
		res = protocol.StepResult{Status: protocol.ResultSnoozed, SnoozeSeconds: 4000}
	}
	res.StepUUID, res.Token = a.StepUUID, a.Token
	if _, err := protocol.Of(p.rig.Client).Settle(p.t.Context(), protocol.SettleRequest{WorkerID: p.worker,
		Results: []protocol.StepResult{res}}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *population) cancelOne() {
	p.t.Helper()
	if len(p.tasks) == 0 {
		return
	}
	id := p.tasks[p.random.IntN(len(p.tasks))]
	if _, err := p.CancelTasks(p.t.Context(), tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id},
		CancelledBy: "ann"}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *population) investigate() {
	p.t.Helper()
	if len(p.tasks) == 0 {
		return
	}
	id := p.tasks[p.random.IntN(len(p.tasks))]
	c, err := p.b.CaseOfTask(p.t.Context(), id)
	switch {
	case err != nil && p.random.IntN(2) == 0:
		_, err = p.b.OpenCase(p.t.Context(), id, operate.OpenCaseRequest{OpenedBy: "ann", Reason: "it looks odd"})
	case err == nil && c.ResolutionStatus == tasker.CasePending:
		to := []tasker.CaseResolution{tasker.CaseManuallyResolved, tasker.CasePermanentlyFailed,
			tasker.CaseCancelled}[p.random.IntN(3)]
		_, err = p.b.UpdateCase(p.t.Context(), c.CaseUUID, operate.CaseUpdate{ResolutionStatus: to, ResolvedBy: "ann"})
	default:
		return
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

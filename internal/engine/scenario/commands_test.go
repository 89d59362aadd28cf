package scenario_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

type interpreter struct {
	*world
	t       *testing.T
	config  settings.Config
	dice    float64 // places jitter; 0.5 is the middle
	store   engine.Database
	restore func() engine.Database

	tasks   map[string]task.ID
	workers map[string]*hand
}

type hand struct {
	id      task.ID
	no      int64
	tokens  map[string]int64 // of its leases, by TASK.STEP
	crashed bool
}

func newInterpreter(t *testing.T, store engine.Database, reopen func() engine.Database) *interpreter {
	return &interpreter{t: t, dice: 0.5, store: store, restore: reopen, tasks: map[string]task.ID{},
		workers: map[string]*hand{}}
}

func (in *interpreter) do(s statement) ([]string, error) {
	a := newArgs(s.words[1:])
	if s.words[0] == "config" {
		if in.world != nil {
			return nil, badScript("config comes first")
		}
		return nil, firstError(in.configure(a), a.unknown())
	}
	if err := in.begun(); err != nil {
		return nil, err
	}
	commands := map[string]func(*args) ([]string, error){
		"template": func(*args) ([]string, error) { return in.template(s.body) },
		"submit":   in.submit, "cancel": in.cancel, "advance": in.advance, "upkeep": in.keepUp, "retain": in.retain,
		"crash":  in.crash,
		"worker": in.worker, "claim": in.claim, "heartbeat": in.heartbeat, "drain": in.drain,
		"resume": in.resume, "probe": in.probe, "cordon": in.cordon, "uncordon": in.uncordon,
		"dispatch": in.dispatch, "letter": in.letter,
		"pause": in.pause, "unpause": in.unpause, "pauses": in.showPauses,
		"limit": in.limit, "unlimit": in.unlimit, "limits": in.showLimits,
		"children": in.showChildren,
		"outages":  in.showOutages, "close-outage": in.closeOutage,
		"start": in.begin, "progress": in.progress, "complete": in.complete, "fail": in.fail, "release": in.release,
		"snooze": in.snooze,
		"reset":  in.act(engine.ResetForRetry), "resolve": in.act(engine.ResolveManually),
		"complete-manually": in.act(engine.CompleteManually),
		"approve":           in.act(engine.ApproveStep), "reject": in.act(engine.RejectStep),
		"signal": in.signal,
		"send":   in.send, "read": in.read, "blobs": in.showBlobs,
		"reconfigure": in.reconfigure, "rekey": in.rekey, "ready": in.showReady, "recovery": in.showRecovery,
		"update-cases": in.updateCases, "act-on-cases": in.actOnCases,
		"replay": in.replay, "edit": in.edit, "failed": in.showFailedTasks, "failures": in.showFailures,
		"smuggle": in.smuggle, "open": in.openCase, "update": in.updateCase, "cases": in.showCases,
		"snapshot": in.showSnapshot, "queue": in.showQueue, "stats": in.showStats,
		"audit": in.showAudit, "detect": in.detect, "staleness": in.showStaleness, "note": in.showCaseNotes,
		"story": in.showStory,
		"task":  in.showTask, "steps": in.showSteps, "history": in.showHistory, "workers": in.showWorkers, "list": in.list,
		"expect": in.expect,
	}
	command, ok := commands[s.words[0]]
	if !ok {
		return nil, badScript("unknown command")
	}
	out, err := command(a)
	return out, firstError(err, a.unknown(), in.moveOn(), in.admit(), in.engine.CountBursts(in.ctx),
		in.moveOn())
}

func (in *interpreter) begun() error {
	if in.world != nil {
		return nil
	}
	var err error
	in.world, err = newScripted(in.t, in.store, in.restore, in.config)
	if in.world != nil {
		in.world.roll = in.dice
	}
	if err != nil {
		return scriptError{err}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// describe renders errors without IDs, which differ from run to run.
func describe(err error) string {
	return fmt.Sprintf("error %s: %s", task.CodeOf(err), uuids.ReplaceAllString(err.Error(), "ID"))
}

func (in *interpreter) configure(a *args) error {
	c := &in.config
	durations := map[string]*time.Duration{"start_timeout": &c.Leases.StartTimeout,
		"heartbeat": &c.Leases.HeartbeatInterval,
		"retention": &c.Retention.Finished, "worker_retention": &c.Retention.Workers, "case_retention": &c.Retention.Cases,
		"idempotency_window": &c.IdempotencyWindow, "keep_signals": &c.Signals.Keep}
	for key, d := range durations {
		if err := a.duration(key, d); err != nil {
			return err
		}
	}
	if err := firstError(a.number("alarm_above", &c.DLQPatterns.AlarmAbove),
		a.number("replayable_above", &c.DLQPatterns.ReplayableAbove), in.configureCases(a), in.configureScheduling(a),
		in.configureWorkers(a), in.configureOutages(a), in.configureRecovery(a), in.configureDelivery(a)); err != nil {
		return err
	}
	c.Leases.ClaimMode = settings.ClaimMode(a.text("claim_mode"))
	c.ResubmitAfterTerminal = a.text("resubmit") == "true"
	c.IdempotencyMismatch = settings.KeyMismatch(a.text("mismatch"))
	return firstError(a.number("missed", &c.Leases.MissedHeartbeats), a.number("max_signals", &c.Signals.MaxKept),
		a.number("payload_bytes", &c.Limits.PayloadBytes), a.number("large_result_bytes", &c.Limits.LargeResultBytes))
}

func (a *args) duration(key string, to *time.Duration) error {
	v, ok := a.get(key)
	if !ok {
		return nil
	}
	d, err := time.ParseDuration(strings.TrimPrefix(v, "+"))
	if err != nil {
		return scriptError{err}
	}
	*to = d
	return nil
}

func (a *args) number(key string, to *int) error {
	v, ok := a.get(key)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return scriptError{err}
	}
	*to = n
	return nil
}

func (a *args) place(i int, what string) (string, error) {
	if i >= len(a.places) {
		return "", badScript("%s is missing", what)
	}
	return a.places[i], nil
}

func (in *interpreter) template(src string) ([]string, error) {
	t, err := template.Parse("template.yaml", []byte(src), in.engine.Level)
	if err != nil {
		return nil, err
	}
	t, created, err := in.engine.RegisterTemplate(in.ctx, t, engine.Registration{})
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("%s/%s %s created=%t", t.Namespace, t.Name, t.Version, created)}, nil
}

func (in *interpreter) submit(a *args) ([]string, error) {
	name, err := a.place(0, "the task's name")
	if err != nil {
		return nil, err
	}
	sub := engine.Submission{Name: a.text("template"), TaskType: a.text("type"), Namespace: a.text("namespace"),
		Version: a.text("version"), Priority: a.text("priority"),
		Capabilities: a.list("caps"), IdempotencyKey: a.text("key"), CorrelationID: a.text("correlation"),
		Meta: task.Meta{Tags: a.list("tags"), OrderingKey: a.text("order")}}
	if c, ok := a.get("context"); ok {
		sub.Context = []byte(c)
	}
	if by := a.list("unique"); by != nil {
		sub.Unique = &task.Unique{By: by, While: a.list("while"), OnConflict: task.OnConflict(a.text("on"))}
		if err := a.duration("period", &sub.Unique.Period); err != nil {
			return nil, err
		}
	}
	var runAt, deadline time.Duration
	count := 1
	if err := firstError(a.duration("run_at", &runAt), a.duration("deadline", &deadline),
		a.duration("timeout", &sub.Timeout), a.number("count", &count)); err != nil {
		return nil, err
	}
	if runAt != 0 {
		sub.RunAt = task.At(start.Add(runAt))
	}
	if deadline != 0 {
		sub.Meta.Deadline = task.At(start.Add(deadline))
	}
	if _, ok := a.get("max_retries"); ok {
		sub.MaxRetries = new(int)
		if err := a.number("max_retries", sub.MaxRetries); err != nil {
			return nil, err
		}
	}
	subs := make([]engine.Submission, count)
	for i := range subs {
		subs[i] = sub
	}
	receipts, err := in.engine.Submit(in.ctx, subs, false)
	if err := firstError(err, in.giveTurns()); err != nil {
		return nil, err
	}
	var out []string
	for i, r := range receipts {
		as := name
		if count > 1 {
			as += strconv.Itoa(i + 1)
		}
		out = append(out, in.receipt(as, r))
	}
	return out, nil
}

func (in *interpreter) receipt(as string, r engine.Receipt) string {
	unique := in.uniqueMatch(r.Unique)
	if r.Created {
		in.tasks[as] = r.ID
		return fmt.Sprintf("%s %s%s", as, r.State, unique)
	}
	if r.Err != nil {
		return fmt.Sprintf("%s exists, %s%s", in.nameOf(r.ID), task.CodeOf(r.Err), unique)
	}
	return fmt.Sprintf("%s exists, %s%s", in.nameOf(r.ID), r.State, unique)
}

func (in *interpreter) uniqueMatch(m *engine.UniqueMatch) string {
	if m == nil {
		return ""
	}
	out := fmt.Sprintf(" %s while=%s", m.Outcome, strings.Join(m.Holder.While, ","))
	if m.Holder.Until != 0 {
		out += " until=" + in.sinceStart(m.Holder.Until)
	}
	if m.Outcome == engine.UniqueReplaced {
		out += " old=" + in.nameOf(m.Holder.Task)
	}
	if m.Begun {
		out += " begun"
	}
	return out
}

func (in *interpreter) nameOf(id task.ID) string {
	for name, known := range in.tasks {
		if known == id {
			return name
		}
	}
	return "unknown"
}

func (in *interpreter) advance(a *args) ([]string, error) {
	text, err := a.place(0, "how far")
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, scriptError{err}
	}
	in.set(in.now.Add(d))
	return []string{in.sinceStart(task.At(in.now))}, nil
}

func (in *interpreter) keepUp(*args) ([]string, error) { return nil, in.upkeep.RunOnce(in.ctx) }

func (in *interpreter) crash(a *args) ([]string, error) {
	who, err := a.place(0, "who")
	if err != nil {
		return nil, err
	}
	if who == "server" {
		return nil, in.restart()
	}
	h, err := in.hand(who)
	if err != nil {
		return nil, err
	}
	h.crashed = true
	return nil, nil
}

func (in *interpreter) taskID(name string) (task.ID, error) {
	id, ok := in.tasks[name]
	if !ok {
		return id, badScript("there is no task %q", name)
	}
	return id, nil
}

func (in *interpreter) target(name string) (task.ID, row, error) {
	of, step, ok := strings.Cut(name, ".")
	if !ok {
		return task.ID{}, row{}, badScript("%q is not TASK.STEP", name)
	}
	id, err := in.taskID(of)
	if err != nil {
		return id, row{}, err
	}
	r, err := in.step(id, step)
	return id, r, err
}

func (in *interpreter) cancel(a *args) ([]string, error) {
	ids := make([]task.ID, len(a.places))
	for i, name := range a.places {
		var err error
		if ids[i], err = in.taskID(name); err != nil {
			return nil, err
		}
	}
	receipts, err := in.engine.Cancel(in.ctx, ids,
		engine.Cancellation{Actor: a.text("by"), Reason: a.text("reason"), Expect: task.Expectation{State: a.text("expect")}})
	if err != nil {
		return nil, err
	}
	var out []string
	for i, r := range receipts {
		if r.Err != nil {
			out = append(out, fmt.Sprintf("%s error %s", a.places[i], task.CodeOf(r.Err)))
			continue
		}
		out = append(out, fmt.Sprintf("%s %s", a.places[i], r.State))
	}
	return out, nil
}

func (in *interpreter) act(kind engine.ActKind) func(*args) ([]string, error) {
	return func(a *args) ([]string, error) {
		name, err := a.place(0, "the step")
		if err != nil {
			return nil, err
		}
		id, r, err := in.target(name)
		if err != nil {
			return nil, err
		}
		act := engine.StepAct{Kind: kind, Actor: "ada", Reason: "because"}
		if v, ok := a.get("by"); ok {
			act.Actor = v
		}
		if v, ok := a.get("reason"); ok {
			act.Reason = v
		}
		if v, ok := a.get("result"); ok {
			act.Result = []byte(v)
		}
		act.DiscardCheckpoint = a.flag("discard_checkpoint")
		after, err := in.engine.Operate(in.ctx, id, r.ID, act)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("%s %s", name, after.State)}, nil
	}
}

func sortedNames[V any](m map[string]V) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

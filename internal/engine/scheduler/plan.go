package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// plan is made before the transaction, where a submission is prepared, and again with locked rows. It is carried out
// only if both agree.
type plan struct {
	of      *schedule.Schedule
	kind    Kind // KindTime for due times, else the operator's
	decided schedule.Decision
	running []task.ID             // not ended
	again   map[task.Instant]bool // refused before, by time
	kinds   map[task.Instant]Kind // of waiting firings, by time
	known   []task.Instant        // times that have fired already
	refused int                   // tasks that the engine refused
	refusal error                 // the last one
}

type decide func(of *schedule.Schedule, times *schedule.Times, state schedule.State) schedule.Decision

func (s *Scheduler) plans(ctx context.Context, tx engine.Tx, ids []task.ID, kind Kind, fn decide) ([]*plan, error) {
	found, err := s.store.Schedules(ctx, tx, ids)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	open, err := s.store.OpenFirings(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	bySchedule := map[task.ID][]Firing{}
	for _, f := range open {
		bySchedule[f.Schedule] = append(bySchedule[f.Schedule], f)
	}
	list := make([]*plan, 0, len(found))
	for _, of := range found {
		p := &plan{of: of, kind: kind, kinds: map[task.Instant]Kind{}}
		state := schedule.State{Decided: of.Decided, Pause: of.Pause, Most: s.most()}
		for _, f := range bySchedule[of.ID] {
			if f.State == Waiting {
				state.Waiting = append(state.Waiting, f.At)
				p.kinds[f.At] = f.Kind
			} else if f.Outcome != "" && !f.Outcome.Settled() { // retention deletes ended tasks
				state.Running++
				p.running = append(p.running, f.Task)
			}
		}
		times, err := s.timesOf(of)
		if err == nil {
			err = readable(of)
		}
		if err != nil { // its times wait for a node that can read it
			return nil, err
		}
		p.decided = fn(of, times, state)
		list = append(list, p)
	}
	return list, s.dropFired(ctx, tx, list)
}

// readable refuses a schedule that this node cannot decrypt: its tasks would fail for good.
func readable(of *schedule.Schedule) error {
	if reason, _, is := task.WhyUnopened(of.Spec.Context); is {
		return task.Errorf(task.WrongState, "the context of the schedule %q cannot be decrypted here: %s", of.Spec.Name,
			reason)
	}
	return nil
}

func (s *Scheduler) most() int { return s.tasks.Config().Limits.BatchItems }

func (p *plan) load() int {
	n := len(p.decided.Begin) + len(p.decided.Fire)
	if p.decided.Cancel {
		n += len(p.running)
	}
	return n
}

// prepare takes the first due plans that fit into one transaction, at least one. Surplus tasks to cancel are
// cancelled before.
func (s *Scheduler) prepare(ctx context.Context, ids []task.ID, kind Kind, fn decide) (made []*plan, err error) {
	plan := func(ctx context.Context, tx engine.Tx) (err error) {
		made, err = s.plans(ctx, tx, ids, kind, fn)
		return err
	}
	if err := s.db.Write(ctx, plan); err != nil {
		return nil, err
	}
	load := 0
	for i, p := range made {
		if load += p.load(); i > 0 && load > s.most() && kind == KindTime {
			made = made[:i]
			break
		}
	}
	if len(made) != 1 || !made[0].decided.Cancel || made[0].load() <= s.most() {
		return made, nil
	}
	p := made[0]
	for some := range slices.Chunk(p.running, s.most()) {
		if err := s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			return s.cancelTasks(ctx, tx, p, some)
		}); err != nil {
			return nil, err
		}
	}
	ids = idsOf(made)
	return made, s.db.Write(ctx, plan)
}

func idsOf(plans []*plan) []task.ID {
	ids := make([]task.ID, len(plans))
	for i, p := range plans {
		ids[i] = p.of.ID
	}
	return ids
}

// Few times have fired: after a backfill or a partial restore.
func (s *Scheduler) dropFired(ctx context.Context, tx engine.Tx, list []*plan) error {
	var ids []task.ID
	var first, last task.Instant
	for _, p := range list {
		for _, f := range append(p.decided.Fire, p.decided.Wait...) {
			if len(ids) == 0 || ids[len(ids)-1] != p.of.ID {
				ids = append(ids, p.of.ID)
			}
			if first == 0 || f.At < first {
				first = f.At
			}
			last = max(last, f.At)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	fired, err := s.store.FiredBetween(ctx, tx, ids, first, last)
	if err != nil {
		return err
	}
	type key struct {
		id task.ID
		at task.Instant
	}
	states := map[key]FiringState{}
	for _, f := range fired {
		states[key{f.Schedule, f.At}] = f.State
	}
	for _, p := range list {
		keep := func(list []schedule.Firing) (kept []schedule.Firing) {
			for _, f := range list {
				switch state := states[key{p.of.ID, f.At}]; state {
				case Refused:
					if p.again == nil {
						p.again = map[task.Instant]bool{}
					}
					p.again[f.At] = true
					kept = append(kept, f)
				case "":
					kept = append(kept, f)
				default:
					p.known = append(p.known, f.At)
				}
			}
			return kept
		}
		p.decided.Fire, p.decided.Wait = keep(p.decided.Fire), keep(p.decided.Wait)
	}
	return nil
}

func same(a, b []*plan) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].of.ID != b[i].of.ID || a[i].of.Version != b[i].of.Version ||
			!reflect.DeepEqual(a[i].decided, b[i].decided) || !reflect.DeepEqual(a[i].again, b[i].again) {
			return false
		}
	}
	return true
}

func (p *plan) kindOf(f schedule.Firing) Kind {
	if p.kind == KindTime && f.Missed {
		return KindMissed
	}
	return p.kind
}

func submission(of *schedule.Spec, at task.Instant, kind Kind) engine.Submission {
	return engine.Submission{Name: of.Template, TaskType: of.TaskType, Version: of.Version, Namespace: of.Namespace,
		Context: contextAt(of, at), Priority: of.Priority, Capabilities: of.Capabilities, Timeout: of.Timeout,
		MaxRetries: of.MaxRetries, Meta: task.Meta{Tags: of.Tags, OrderingKey: of.OrderingKey, SourceSystem: "schedule",
			Schedule: &task.Scheduled{Name: of.Name, At: at, Kind: string(kind)}}}
}

// contextAt adds the time to the schedule's context in the named member.
func contextAt(of *schedule.Spec, at task.Instant) []byte {
	if of.TimeField == "" {
		return of.Context
	}
	members := map[string]json.RawMessage{}
	if len(of.Context) > 0 && json.Unmarshal(of.Context, &members) != nil {
		return of.Context // not an object, which Validate refuses
	}
	if members == nil { // null
		members = map[string]json.RawMessage{}
	}
	members[of.TimeField] = json.RawMessage(`"` + at.Time().Format(time.RFC3339Nano) + `"`)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(members) != nil { // each member is valid JSON
		return of.Context
	}
	return bytes.TrimSpace(b.Bytes())
}

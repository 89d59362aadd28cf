package scenario_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// model drives worlds that must act alike. Of a node of TestTwoNodes, the model has one world and shares its
// knowledge with that of the other node.
type model struct {
	worlds []*world
	*knowledge
}

// knowledge is what was acknowledged, and the facts that follow.
type knowledge struct {
	keys keys

	tasks   []task.ID
	workers []task.ID
	leases  []engine.LeaseRef
	taskOf  map[task.ID]task.ID
	tokens  map[task.ID]int64 // the last of each step
	done    map[task.ID]int   // accepted completions of each step
	passes  map[task.PauseTarget]*passes

	checkpoints map[task.ID]string // for the next attempt of a step
	signals     []sentSignal
	deleted     bool
	arrived     []task.Instant // when the server started
	rates       map[string]*passes
}

func newModel(t *testing.T, other kind) (*model, error) {
	ring, err := newKeys()
	if err != nil {
		return nil, err
	}
	worlds, err := openBoth(t, other, ring.all)
	if err != nil {
		return nil, err
	}
	for _, w := range worlds {
		for _, def := range modelTemplates() {
			if _, _, err := w.engine.RegisterTemplate(w.ctx, def, engine.Registration{}); err != nil {
				return nil, err
			}
		}
	}
	return &model{worlds, newKnowledge(ring)}, nil
}

func newKnowledge(ring keys) *knowledge {
	return &knowledge{keys: ring, tokens: map[task.ID]int64{}, done: map[task.ID]int{},
		taskOf: map[task.ID]task.ID{}, passes: map[task.PauseTarget]*passes{},
		checkpoints: map[task.ID]string{}, rates: map[string]*passes{},
		arrived: []task.Instant{task.At(start)}}
}

// both carries out a verb in all worlds, compares the answers and error codes, and returns the first answer. Errors
// are failures unless their code is allowed.
func both[T any](m *model, verb func(w *world) (T, error), allowed ...task.Code) (T, error) {
	first, err := verb(m.worlds[0])
	for _, w := range m.worlds[1:] {
		second, err2 := verb(w)
		if task.CodeOf(err) != task.CodeOf(err2) {
			return first, fmt.Errorf("the stores answer with the errors %v and %v", err, err2)
		}
		if diff := cmp.Diff(first, second, byCode(), decrypted(), cmpopts.EquateEmpty()); diff != "" {
			return first, fmt.Errorf("the answers differ (-memstore +other):\n%s", diff)
		}
	}
	if err != nil && !slices.Contains(allowed, task.CodeOf(err)) {
		return first, fmt.Errorf("all stores: %w", err)
	}
	return first, nil
}

// byCode compares errors within answers by their code.
func byCode() cmp.Option {
	return cmp.Comparer(func(a, b error) bool { return task.CodeOf(a) == task.CodeOf(b) })
}

func (m *model) do(o op) error {
	if err := m.verb(o); err != nil {
		return err
	}
	return m.after()
}

// after lets steps pass limits and counts failures.
func (m *model) after() error {
	_, err := both(m, func(w *world) (any, error) {
		return nil, errors.Join(w.engine.CountBursts(w.ctx), w.admit(), w.moveOn())
	})
	return errors.Join(err, m.noteChildren())
}

func (m *model) verb(o op) error {
	switch o.kind {
	case "submit":
		return m.submit(o)
	case "worker":
		return m.register(task.Worker{Name: "w", Capacity: 3, Handlers: [][]string{nil, {"h"}, {"i", "h"}}[o.n[0]%3],
			Capabilities: [][]string{nil, {"gpu"}}[o.n[1]%2]})
	case "advance":
		d := []time.Duration{time.Millisecond, time.Second, 5 * time.Second, 31 * time.Second, 61 * time.Second,
			91 * time.Second,
			11 * time.Minute, time.Hour, 25 * time.Hour}[o.n[0]%9]
		if o.n[1]%40 == 0 {
			d = 8 * 24 * time.Hour
		}
		for _, w := range m.worlds {
			w.set(w.now.Add(d))
		}
		return nil
	case "upkeep":
		_, err := both(m, func(w *world) (any, error) {
			if o.n[0]%4 == 0 {
				return nil, w.keepUp()
			}
			return nil, w.upkeep.RunOnce(w.ctx)
		})
		return errors.Join(err, m.fire())
	case "key":
		return m.key(o)
	case "hide":
		return m.hide(o)
	case "schedule":
		return m.schedule(o)
	case "restart":
		return m.restart()
	case "crash", "work", "flood", "undo", "lose", "orphan":
		return map[string]func(op) error{"crash": m.crash, "work": m.work, "flood": m.flood, "undo": m.undo,
			"lose": m.lose, "orphan": m.orphan}[o.kind](o)
	case "pause":
		return m.pause(o)
	case "limit":
		return m.limit(o)
	case "outage":
		return m.outage(o)
	case "signal":
		return m.signal(o)
	case "cancel":
		return m.cancel(o)
	case "act":
		return m.act(o)
	case "replay":
		return m.replay(o)
	case "case":
		return m.caseVerb(o)
	case "claim", "heartbeat", "drain":
		if len(m.workers) == 0 {
			return nil
		}
		return m.workerVerb(o, m.workers[int(o.n[0])%len(m.workers)])
	default:
		if len(m.leases) == 0 {
			return nil
		}
		return m.leaseVerb(o)
	}
}

func (m *model) restart() error {
	_, err := both(m, func(w *world) (any, error) {
		// SQLite forgets unused IDs; from the next millisecond on they agree again
		w.set(w.now.Add(time.Millisecond))
		return nil, w.restart()
	})
	m.arrived = append(m.arrived, m.worlds[0].engine.Now())
	return err
}

func (m *model) register(worker task.Worker) error {
	w, err := both(m, func(w *world) (*task.Worker, error) { return w.engine.Register(w.ctx, worker) })
	if err == nil {
		m.workers = append(m.workers, w.ID)
	}
	return err
}

func (m *model) workerVerb(o op, id task.ID) error {
	switch o.kind {
	case "claim":
		_, err := m.claim(id, 1+int(o.n[1]%4), o.n[2]%3 > 0)
		return err
	case "drain":
		_, err := both(m, func(w *world) (int, error) {
			return w.engine.Drain(w.ctx, id, o.n[1]%2 == 0, engine.WorkerAct{})
		}, forgotten)
		return err
	}
	beat := engine.Beat{Worker: id, Load: int(o.n[1] % 4), Draining: o.n[2]%16 == 0}
	if o.n[3]%2 == 0 && len(m.leases) > 0 {
		beat.Leases = m.some(o)
	}
	_, err := both(m, func(w *world) ([]engine.LeaseAnswer, error) {
		answers, _, err := w.engine.Heartbeat(w.ctx, beat)
		slices.SortStableFunc(answers, func(a, b engine.LeaseAnswer) int { return slices.Compare(a.Step[:], b.Step[:]) })
		return answers, err
	}, forgotten)
	return err
}

// forgotten answers a worker that was silent until its deletion.
const forgotten = task.NotFound

// claim checks the invariants of every hand-out.
func (m *model) claim(id task.ID, n int, start bool) ([]engine.Lease, error) {
	outages, err := m.worlds[0].openOutages()
	if err != nil {
		return nil, err
	}
	leases, err := both(m, func(w *world) ([]engine.Lease, error) {
		leases, _, err := w.engine.Poll(w.ctx, id, n, 0, start)
		return leases, err
	}, forgotten)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.checkPauses(leases), m.checkPasses(leases), m.checkProbes(leases, outages)); err != nil {
		return nil, err
	}
	for _, l := range leases {
		if l.Step.Token <= m.tokens[l.Step.ID] {
			return nil, fmt.Errorf("step %s was handed out under the token %d after %d", l.Step.ID, l.Step.Token,
				m.tokens[l.Step.ID])
		}
		m.tokens[l.Step.ID] = l.Step.Token
		m.taskOf[l.Step.ID] = l.Task.ID
		m.leases = append(m.leases, engine.LeaseRef{Step: l.Step.ID, Token: l.Step.Token})
		if err := errors.Join(m.checkParents(l), m.checkUndoes(l)); err != nil {
			return nil, err
		}
		if want := m.checkpoints[l.Step.ID]; string(l.Checkpoint) != want {
			return nil, fmt.Errorf("step %s was handed out with the checkpoint %q, not %q", l.Step.ID, l.Checkpoint, want)
		}
	}
	return leases, nil
}

func (m *model) checkParents(l engine.Lease) error {
	_, rows, err := m.worlds[0].steps(l.Task.ID)
	if err != nil {
		return err
	}
	spec := l.Template.Steps[l.Step.Ordinal-1]
	if len(l.ParentResults) != len(spec.Reads()) {
		return fmt.Errorf("step %s got %d results of %d parents", spec.Name, len(l.ParentResults), len(spec.Reads()))
	}
	for _, p := range spec.Reads() {
		if !rows[p].State.Satisfies() {
			return fmt.Errorf("step %s was handed out while its parent %s is %s", spec.Name, rows[p].name, rows[p].State)
		}
	}
	return nil
}

// some picks a few leases, mostly young ones, with repetitions.
func (m *model) some(o op) []engine.LeaseRef {
	refs := make([]engine.LeaseRef, 1+o.n[4]%3)
	for i := range refs {
		pick := int(o.n[5] >> (5 * i) % 32)
		refs[i] = m.leases[len(m.leases)-1-pick%len(m.leases)]
	}
	return refs
}

func (m *model) leaseVerb(o op) error {
	refs := m.some(o)
	switch o.kind {
	case "start":
		_, err := both(m, func(w *world) ([]engine.LeaseAnswer, error) { return w.engine.Start(w.ctx, refs) })
		return err
	case "progress":
		p := engine.Progress{Percent: int(o.n[0] % 101), Note: "n"}
		switch o.n[1] % 6 {
		case 0, 1:
			p.Checkpoint = fmt.Appendf(nil, "%d", o.n[2])
		case 2:
			p.Checkpoint = []byte("null")
		}
		answer, err := both(m, func(w *world) (engine.LeaseAnswer, error) { return w.engine.Report(w.ctx, refs[0], p) })
		if err == nil && answer.Status == engine.Held && p.Checkpoint != nil {
			m.checkpoints[refs[0].Step] = strings.TrimPrefix(string(p.Checkpoint), "null")
		}
		return err
	}
	results := make([]engine.Result, len(refs))
	for i, ref := range refs {
		r := engine.Result{Step: ref.Step, Token: ref.Token}
		if o.n[2]%4 == 0 {
			r.Log = fmt.Sprintf("line %d\n", o.n[2])
			r.LogBytes = int64(len(r.Log))
		}
		switch o.n[0] >> (4 * i) % 10 {
		case 0, 1:
			r.Status = engine.ResultFailed
			r.Failure = &task.Failure{Message: "x", Retryable: true, RetryAfterMS: int64(o.n[1] % 3000)}
		case 2:
			r.Status = engine.ResultFailed
			r.Failure = &task.Failure{Type: "fatal", Message: "x"}
		case 3:
			r.Status = engine.ResultReleased
		case 4:
			r.Status, r.Snooze = engine.ResultSnoozed, time.Duration(o.n[1]%90)*time.Second
		default:
			r.Status, r.Result = engine.ResultCompleted, []byte(fmt.Sprintf(`{"n":%d}`, o.n[1]%10))
		}
		results[i] = r
	}
	return m.settle(results)
}

func (m *model) settle(results []engine.Result) error {
	before, err := m.beforeReports(results)
	if err != nil {
		return err
	}
	answers, err := both(m, func(w *world) ([]engine.Answer, error) {
		return w.engine.Settle(w.ctx, slices.Clone(results))
	})
	if err != nil {
		return err
	}
	if err := m.checkSpared(results, answers, before); err != nil {
		return err
	}
	for i, a := range answers {
		if a.Err != nil || results[i].Status != engine.ResultCompleted {
			continue
		}
		if results[i].Token != m.tokens[a.Step] {
			return fmt.Errorf("a result under the token %d was accepted; the last one handed out is %d", results[i].Token,
				m.tokens[a.Step])
		}
		delete(m.checkpoints, a.Step)
		if m.done[a.Step]++; m.done[a.Step] > 1 {
			return fmt.Errorf("step %s was completed twice", a.Step)
		}
	}
	return nil
}

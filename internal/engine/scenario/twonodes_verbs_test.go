package scenario_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Handlers of tasks of one step. Before the end, no worker serves the last one.
var duoHandlers = []string{"h", "i", "unserved"}

func (d *duo) verb(n *node, o op) error {
	switch o.kind {
	case "submit", "burst", "keyed":
		return d.submit(n, o)
	case "worker":
		return d.register(n, task.Worker{Name: "w", Capacity: 6 + int(o.n[1]%6),
			Handlers: [][]string{{"h"}, {"i"}, {"h", "i"}}[o.n[0]%3], Capabilities: [][]string{nil, {"gpu"}}[o.n[2]%2]})
	case "claim", "claim all", "claim few", "heartbeat", "revive", "drain":
		return d.workerVerb(n, o)
	case "start", "settle":
		return d.leaseVerb(n, o)
	case "cancel", "act", "repair", "replay", "case", "open case":
		return d.taskVerb(n, o)
	case "workflow", "each minute", "minutes", "move", "fire", "sent", "decide":
		return d.featureVerb(n, o)
	case "queue worker", "dispatch", "letter", "cordon", "uncordon":
		return d.deliveryVerb(n, o)
	case "pause", "unpause":
		return d.pauseVerb(n, o)
	case "retain":
		_, err := n.engine.Retain(n.ctx)
		return err
	case "unserved":
		_, err := n.engine.FindUnserved(n.ctx, 5)
		return err
	default:
		return n.upkeep.RunOnce(n.ctx)
	}
}

// submit sends a few tasks of any kind; or many of one, for one route; or some with idempotency keys, in either
// order.
func (d *duo) submit(n *node, o op) error {
	var subs []engine.Submission
	var names []string
	switch o.kind {
	case "burst":
		for range 6 + o.n[0]%6 {
			subs = append(subs, engine.Submission{TaskType: duoHandlers[o.n[1]%3], Context: []byte("1")})
		}
	case "keyed":
		for i := range 1 + o.n[0]%2 {
			names = append(names, fmt.Sprint("k", (o.n[1]+i)%2))
			subs = append(subs, engine.Submission{TaskType: "i", Context: []byte("1"), IdempotencyKey: names[i]})
		}
	default:
		for i := range 1 + o.n[0]%4 {
			s := engine.Submission{Context: []byte("1"), Priority: []string{"", "high", "low"}[o.n[2]>>(4*i)%3]}
			if pick := o.n[1] >> (4 * i) % 6; pick < 4 {
				s.Name = []string{"chain", "diamond", "timed", "timed"}[pick]
			} else {
				s.TaskType = duoHandlers[pick-4]
			}
			subs = append(subs, s)
		}
	}
	before := map[string]bound{}
	for _, name := range names {
		if b, ok := d.bound(name); ok {
			before[name] = b
		}
	}
	receipts, err := n.engine.Submit(n.ctx, subs, false)
	if err := d.accepted(receipts, err); err != nil {
		return err
	}
	for i, name := range names {
		if err := d.named(name, receipts[i], before); err != nil {
			return err
		}
	}
	return nil
}

func (d *duo) accepted(receipts []engine.Receipt, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range receipts {
		err = errors.Join(err, r.Err)
		if r.Created {
			d.tasks = append(d.tasks, r.ID)
		}
	}
	return err
}

// bound returns the known task of a key.
func (d *duo) bound(name string) (bound, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, ok := d.keys[name]
	return b, ok && d.now.Sub(b.at) < duoConfig.IdempotencyWindow
}

// named checks that there is one task for a key within its window.
func (d *duo) named(name string, r engine.Receipt, before map[string]bound) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b, known := before[name]; known && r.ID != b.task {
		return fmt.Errorf("the key %s names the task %s, and named %s %v before",
			name, r.ID, b.task, d.now.Sub(b.at))
	}
	if !r.Created {
		return nil
	}
	if b, ok := d.keys[name]; ok && d.now.Sub(b.at) < duoConfig.IdempotencyWindow {
		return fmt.Errorf("two tasks were made for the key %s within its window: %s and %s", name, b.task, r.ID)
	}
	d.keys[name] = bound{r.ID, d.now}
	return nil
}

func (d *duo) register(n *node, worker task.Worker) error {
	w, err := n.engine.Register(n.ctx, worker)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.workers = append(d.workers, w.ID)
	d.heard[w.ID], d.serves[w.ID] = d.now, len(worker.Handlers)
	return nil
}

// pick selects an element.
func pick[T any](d *duo, from *[]T, n uint32) (one T, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(*from) == 0 {
		return one, false
	}
	return (*from)[int(n)%len(*from)], true
}

func (d *duo) workerVerb(n *node, o op) error {
	id, ok := pick(d, &d.workers, o.n[0])
	if !ok {
		return nil
	}
	most := []int{1, 3, 10, 10}[o.n[1]%4]
	switch o.kind {
	case "claim all": // on one route
		id, most = d.serving(1, id), 10
	case "claim few": // of several
		id, most = d.serving(2, id), 1+int(o.n[1]%3)
	case "drain":
		_, err := n.engine.Drain(n.ctx, id, o.n[1]%4 == 0, engine.WorkerAct{})
		return unless(err, forgotten)
	case "heartbeat", "revive":
		if o.kind == "revive" {
			id = d.mostSilent()
		}
		_, _, err := n.engine.Heartbeat(n.ctx, engine.Beat{Worker: id})
		if err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.heard[id] = d.now
		}
		return unless(err, forgotten)
	}
	_, err := d.claim(n, id, most, o.n[2]%3 > 0)
	return unless(err, forgotten)
}

// serving returns the last worker with so many handlers, or else another.
func (d *duo) serving(handlers int, other task.ID) task.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range slices.Backward(d.workers) {
		if d.serves[id] == handlers {
			return id
		}
	}
	return other
}

// mostSilent returns the worker with the oldest sign of life.
func (d *duo) mostSilent() task.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.MinFunc(d.workers, func(a, b task.ID) int { return d.heard[a].Compare(d.heard[b]) })
}

// unless returns an error that is not of one of the codes.
func unless(err error, codes ...task.Code) error {
	if slices.Contains(codes, task.CodeOf(err)) {
		return nil
	}
	return err
}

func (d *duo) claim(n *node, worker task.ID, most int, begin bool) ([]engine.Lease, error) {
	cordons, pauses := d.cordons(n, worker), d.pausesOf(n)
	leases, _, err := n.engine.Poll(n.ctx, worker, most, 0, begin)
	if err != nil {
		return nil, err
	}
	return leases, errors.Join(d.uncordoned(n, worker, cordons, leases), d.unpaused(n, pauses, leases),
		d.took(leases, begin))
}

func (d *duo) took(leases []engine.Lease, begun bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range leases {
		ref := refOf(&leases[i])
		if d.handed[ref] {
			return fmt.Errorf("step %s was handed out twice under the token %d", ref.Step, ref.Token)
		}
		d.handed[ref], d.started[ref] = true, begun
		d.leases = append(d.leases, ref)
		d.tokens[ref.Step], d.taskOf[ref.Step] = max(d.tokens[ref.Step], ref.Token), leases[i].Task.ID
	}
	return nil
}

func (d *duo) leaseVerb(n *node, o op) error {
	d.mu.Lock()
	refs := slices.Clone(d.leases[max(0, len(d.leases)-int(1+o.n[0]%8)):])
	d.mu.Unlock()
	if len(refs) == 0 {
		return nil
	}
	if o.kind == "start" {
		answers, err := n.engine.Start(n.ctx, refs)
		for i, a := range answers {
			if a.Status == engine.Held {
				err = errors.Join(err, d.begun(refs[i]))
			}
		}
		return err
	}
	results := make([]engine.Result, len(refs))
	for i, ref := range refs {
		r := engine.Result{Step: ref.Step, Token: ref.Token}
		switch o.n[1] >> (3 * i) % 8 {
		case 0, 1:
			r.Status, r.Failure = engine.ResultFailed, &task.Failure{Type: "fatal", Message: "x"}
		case 2:
			r.Status, r.Failure = engine.ResultFailed, &task.Failure{Message: "x", Retryable: true}
		case 3:
			r.Status = engine.ResultReleased
		default:
			r.Status = engine.ResultCompleted
		}
		results[i] = r
	}
	return d.settle(n, results)
}

func (d *duo) settle(n *node, results []engine.Result) error {
	if len(results) == 0 {
		return nil
	}
	answers, err := n.engine.Settle(n.ctx, slices.Clone(results))
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a.Err == nil && results[i].Status == engine.ResultCompleted {
			err = errors.Join(err, d.satisfied(a.Step))
		}
	}
	return err
}

func (d *duo) satisfied(step task.ID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.checkpoints, step)
	if d.done[step]++; d.done[step] > 1 {
		return fmt.Errorf("step %s was settled twice", step)
	}
	return nil
}

// taskVerb acts on a task as an operator. Some verbs take the oldest task that they fit.
func (d *duo) taskVerb(n *node, o op) error {
	id, ok := pick(d, &d.tasks, o.n[0])
	if !ok {
		return nil
	}
	fits := func(t *task.Task) bool { return t.State == task.Errored }
	if o.kind == "open case" {
		fits = func(t *task.Task) bool { return t.State.Terminal() && !t.Meta.Case.Kept() }
	}
	if oldest, ok := d.oldest(fits); ok && (o.kind == "repair" || o.kind == "open case" || o.n[1]%2 == 0) {
		id = oldest
	}
	switch o.kind {
	case "cancel":
		_, err := n.engine.Cancel(n.ctx, []task.ID{id}, engine.Cancellation{Actor: "ada", Reason: "because"})
		return unless(err, task.NotFound)
	case "replay":
		_, err := n.engine.Replay(n.ctx, id, engine.Replay{Actor: "ada", Reason: "again", ResetAttempts: o.n[2]%2 == 0})
		d.noteRepair(id, err)
		return unless(err, task.WrongState, task.NotFound)
	case "case", "open case":
		return d.caseVerb(n, o, id)
	}
	return d.act(n, o, id)
}

// oldest returns the oldest task of a kind after the last round.
func (d *duo) oldest(of func(*task.Task) bool) (id task.ID, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range d.tasks {
		if t := d.known[id]; t != nil && of(t) {
			return id, true
		}
	}
	return id, false
}

func (d *duo) noteRepair(id task.ID, err error) {
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.repaired[id] = true
	}
}

func (d *duo) act(n *node, o op, id task.ID) error {
	_, rows, err := n.steps(id)
	if err != nil {
		return unless(err, task.NotFound)
	}
	r := rows[int(o.n[2])%len(rows)]
	if i := slices.IndexFunc(rows, func(r row) bool { return r.State == task.StepErrored }); i >= 0 {
		r = rows[i]
	}
	kind := engine.ResetForRetry
	if o.n[3]%4 == 0 && o.kind == "act" {
		kind = engine.ResolveManually
	}
	_, err = n.engine.Operate(n.ctx, id, r.ID, engine.StepAct{Kind: kind, Actor: "ada", Reason: "because"})
	d.noteRepair(id, err)
	if err == nil && kind == engine.ResolveManually {
		return d.satisfied(r.ID)
	}
	return unless(err, task.WrongState, task.NotFound)
}

func (d *duo) caseVerb(n *node, o op, id task.ID) error {
	if o.kind == "open case" || o.n[2]%3 > 0 {
		c, err := n.engine.OpenCase(n.ctx, id, engine.CaseRequest{Actor: "ada", Reason: "because"})
		if err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.pending[c.ID] = id
		}
		return unless(err, task.NotFound, task.Conflict)
	}
	c, err := n.engine.CaseOfTask(n.ctx, id)
	if err != nil {
		return unless(err, task.NotFound)
	}
	d.mu.Lock()
	delete(d.pending, c.ID)
	d.mu.Unlock()
	_, err = n.engine.UpdateCase(n.ctx, c.ID, task.CaseChange{Status: task.CaseResolved, Actor: "ada"})
	return unless(err, task.NotFound, task.WrongState, task.Conflict)
}

package scenario_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	spec "github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Scripts with one of the thousand seeds from here on have the verbs of TestModel, each alone on a node that follows
// the other; and in parallel the verbs about child tasks, waits, signals, compensation and schedules. One node may
// lack a key.
const featureSeeds = 3000

var (
	featureVerbs = []string{"workflow", "workflow", "move", "move", "move", "fire", "sent", "sent", "decide",
		"claim", "claim", "settle", "settle", "settle", "start", "cancel", "act", "replay", "upkeep", "heartbeat"}
	featureRivals = []rivalry{
		{[]string{"workflow", "model work", "workflow"}, [2]string{"move", "move"}},
		{[]string{"model work", "model claim"}, [2]string{"settle", "move"}},
		{[]string{"workflow", "model work"}, [2]string{"cancel", "move"}},
		{[]string{"model undo", "workflow"}, [2]string{"move", "upkeep"}},
		{[]string{"model signal", "workflow"}, [2]string{"sent", "move"}},
		{[]string{"model advance"}, [2]string{"decide", "upkeep"}},
		{[]string{"each minute", "minutes"}, [2]string{"fire", "fire"}},
		{[]string{"model schedule", "model advance"}, [2]string{"fire", "cancel"}},
		{[]string{"model hide"}, [2]string{"move", "move"}},
		{[]string{"model lose"}, [2]string{"move", "sent"}},
		{[]string{"model orphan", "model work"}, [2]string{"act", "move"}},
		{[]string{"model flood"}, [2]string{"claim", "upkeep"}},
		{[]string{"model crash"}, [2]string{"claim", "upkeep"}},
	}
)

const modelVerb = "model "

func modelVerbs() (kinds []string) {
	for _, w := range weights {
		kinds = append(kinds, slices.Repeat([]string{modelVerb + w.kind}, w.weight)...)
	}
	return kinds
}

func (d *duo) on(n *node) *model { return &model{[]*world{n.world}, d.knowledge} }

// modelVerb runs a verb of TestModel on a node that has read the other one's changes.
func (d *duo) modelVerb(n *node, o op) error {
	if err := d.carryNews(); err != nil {
		return err
	}
	err := d.on(n).do(o)
	d.advance(n.world.now.Sub(d.now))
	return err
}

// rest lets one node do what follows commits, or both until nothing is left: one may decrypt what the other cannot.
func (d *duo) rest(beside, both bool) error {
	for i, n := range d.nodes {
		if !d.all || !both && (!beside || i > 0) {
			break
		}
		m := d.on(n)
		if err := firstError(d.carryNews(), n.giveTurns(), m.after(), m.fire()); err != nil {
			return fmt.Errorf("at rest, node %s: %w", n.name, err)
		}
	}
	return nil
}

func (d *duo) featureVerb(n *node, o op) error {
	switch o.kind {
	case "each minute":
		for i := range uint32(3) { // alone, more than one call may have is due soon
			allow := uint32(slices.Index(spec.Overlaps, spec.OverlapAllow))
			if err := d.on(n).schedule(op{n: [6]uint32{i, 4, allow, 1}}); err != nil {
				return err
			}
		}
		return nil
	case "minutes":
		d.advance(5 * time.Minute)
		return nil
	case "workflow":
		subs := modelSubmissions(o, d.now)
		for i := range subs {
			subs[i].Meta.OrderingKey, subs[i].Unique, subs[i].IdempotencyKey = "", nil, ""
		}
		return d.accepted(n.engine.Submit(n.ctx, subs, false))
	case "move":
		return n.moveOn()
	case "fire":
		_, _, err := n.schedules().Fire(n.ctx)
		if n.fails(err) {
			return err
		}
		return nil
	case "sent":
		return d.sent(n, o)
	default:
		return d.decide(n, o)
	}
}

// sent sends a signal with a key of this node only, so that the order is clear.
func (d *duo) sent(n *node, o op) error {
	s := sentSignal{name: []string{"paid", "paid", "sent"}[o.n[0]%3], at: n.engine.Now(),
		key: fmt.Sprint(int(o.n[1]%2)*2 + slices.Index(d.nodes[:], n))}
	s.Namespace = engine.DefaultNamespace
	d.mu.Lock()
	s.payload = fmt.Sprintf(`{"signal":%d}`, len(d.signals))
	d.signals = append(d.signals, s)
	at := len(d.signals) - 1
	d.mu.Unlock()
	got, _, err := n.engine.SendSignal(n.ctx, engine.SignalRequest{SignalName: s.SignalName, Name: s.name, Key: s.key,
		Payload: []byte(s.payload)})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.signals[at].SignalName, d.signals[at].until, d.signals[at].hidden = got.SignalName, got.ExpiresAt, !n.keyless
	return nil
}

func (d *duo) decide(n *node, o op) error {
	waits, err := n.store.WaitStore().ListWaits(n.ctx, engine.WaitFilter{Kind: task.WaitApproval, Limit: 5})
	if err != nil || len(waits) == 0 {
		return err
	}
	w := waits[int(o.n[0])%len(waits)]
	act := engine.StepAct{Kind: []engine.ActKind{engine.ApproveStep, engine.RejectStep}[o.n[1]%2], Actor: "ada",
		Reason: "because"}
	_, err = n.engine.Operate(n.ctx, w.Task, w.Step, act)
	if err == nil && act.Kind == engine.ApproveStep {
		return d.satisfied(w.Step)
	}
	return unless(err, task.WrongState, task.NotFound)
}

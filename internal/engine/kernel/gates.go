package kernel

import (
	"cmp"
	"slices"

	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A step under limits passes its gates in a fixed order before it enters the queue of its route. It is parked at the
// first one, and the gate is signalled without a lock, because a caller's transaction may stay open for long. After
// the commit Admit locks gates, gives permits to the first steps that may pass, and moves them on. So no claim reads
// a step that a limit holds back. Permits last from the gate to the end of the attempt, those of rates until a worker
// gets the step.
//
// The transaction that ends an attempt or step deletes its permits and signals their gates, as does the one that
// hands out a step under a rate.

type gates struct {
	u        *Unit
	freed    []task.ID  // their permits end
	passing  []ratePass // they passed a rate in this unit
	begun    []task.ID  // they passed a rate earlier, and a worker has got them
	unused   []Pass     // of steps that no worker got
	signals  map[int64]Gate
	contexts map[task.ID]decodedContext
	// operators are freed permits of operators' limits, by limit.
	operators map[int64]int
	passable  bool // steps may pass gates whose permits were freed
}

func GatesFeature() Feature {
	return Feature{
		Name:  "limits of templates",
		Of:    limitedTask,
		ready: func(u *Unit, steps []Work) ([]Work, error) { return gateSlot.Of(u).enter(steps) },
		Moved: func(u *Unit, w Work, from task.StepState) { gateSlot.Of(u).left(w, from) },
		Stages: []Stage{{rankPermits, "permits", []string{"limit_permits", "limit_signals"},
			gateSlot.Save((*gates).save)}},
		After: []FollowUp{{afterGates, "gates", gateSlot.After(func(g *gates) {
			if g.stirred() && !g.u.E.ByHand {
				g.u.E.admits.Post(struct{}{})
			}
		})}},
	}
}

var gateSlot = NewSlot(func(u *Unit) *gates { return &gates{u: u} })

type ratePass struct {
	Permit
	step *task.Step
}

func beginGates(u *Unit, w Work) error {
	if w.Task == nil || !w.Task.Meta.Limited {
		return nil
	}
	g := gateSlot.Of(u)
	if slices.ContainsFunc(g.passing, func(p ratePass) bool { return p.step == w.Step }) {
		return nil
	}
	def, err := g.u.Rows.Template(w.Step.DefID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(def.Spec(w.Step).Gates, func(l limit.Gate) bool { return !l.Rate.Zero() }) {
		g.begun, g.passable = append(g.begun, w.Step.ID), true
	}
	return nil
}

// giveBackPasses keeps rates from counting a step that was not handed out.
func giveBackPasses(u *Unit, w Work) error {
	if !w.Task.Meta.Limited {
		return nil
	}
	g := gateSlot.Of(u)
	g.begun = slices.DeleteFunc(g.begun, func(step task.ID) bool { return step == w.Step.ID })
	path, err := g.path(w)
	for _, at := range path {
		if !at.Rate.Zero() {
			g.unused, g.passable = append(g.unused, Pass{Permit{at.No, w.Step.ID}, at.Rate.Cost()}), true
		}
	}
	return err
}

func (g *gates) left(w Work, from task.StepState) {
	if (from == task.StepEnqueued || from.Leased()) && !w.Step.State.Leased() {
		g.freed, g.passable = append(g.freed, w.Step.ID), true
	}
}

func (g *gates) leftLimits(w Work, from task.StepState, by []*knownLimit) {
	if !from.Leased() || w.Step.State.Leased() {
		return
	}
	if !w.Task.Meta.Limited { // else freed with those of gates
		g.freed = append(g.freed, w.Step.ID)
	}
	for _, l := range by {
		g.operatorsPermit(l.no)
	}
}

func (g *gates) operatorsPermit(limit int64) {
	if g.operators == nil {
		g.operators = map[int64]int{}
	}
	g.operators[limit]++
}

func (g *gates) enter(entering []Work) (free []Work, err error) {
	if err := g.readKeys(entering); err != nil {
		return nil, err
	}
	for _, w := range entering {
		if !w.Step.OnRoute() {
			continue
		}
		path, err := g.path(w)
		if err != nil {
			return nil, err
		}
		if len(path) == 0 {
			free = append(free, w)
			continue
		}
		if err := g.park(w, path[0]); err != nil {
			return nil, err
		}
	}
	return free, nil
}

func (g *gates) park(w Work, at Gate) error {
	g.signal(at)
	return w.Step.Park(task.ParkedLimit(at.No), g.u.Order)
}

func (g *gates) signal(at Gate) {
	if g.signals == nil {
		g.signals = map[int64]Gate{}
	}
	if was, ok := g.signals[at.No]; !ok || was.Namespace == "" || was.Rev < at.Rev {
		g.signals[at.No] = at
	}
}

func (g *gates) readKeys(works []Work) error {
	var bare []*task.Task
	for _, w := range works {
		if !w.Task.Meta.Limited || w.Task.Context != nil || g.u.Rows.Tasks[w.Task.ID] == nil ||
			slices.Contains(bare, w.Task) {
			continue
		}
		def, err := g.u.Rows.Template(w.Step.DefID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(def.Spec(w.Step).Gates, func(l limit.Gate) bool { return !l.Key.Constant() }) {
			bare = append(bare, w.Task)
		}
	}
	return g.u.Rows.ReadContexts(bare)
}

func (g *gates) path(w Work) ([]Gate, error) {
	var path []Gate
	if w.Task.Meta.Limited {
		def, err := g.u.Rows.Template(w.Step.DefID)
		if err != nil {
			return nil, err
		}
		for _, l := range def.Spec(w.Step).Gates {
			var document any
			if !l.Key.Constant() {
				document = g.document(w.Task)
			}
			key := l.Key.Of(document)
			path = append(path, Gate{No: limit.Number(def.Namespace, l.Name, key), Namespace: def.Namespace, Name: l.Name,
				Key: key, Permits: l.Permits, Rate: l.Rate, Rev: def.DefID})
		}
	}
	slices.SortStableFunc(path, func(a, b Gate) int { return cmp.Compare(stageOf(a), stageOf(b)) })
	return path, nil
}

type decodedContext struct {
	from     []byte
	document any
}

func (g *gates) document(t *task.Task) any {
	from := task.Readable(t.Context) // no key has a sensitive value
	if len(from) == 0 {
		return nil
	}
	if known, ok := g.contexts[t.ID]; ok && len(known.from) == len(from) && &known.from[0] == &from[0] {
		return known.document
	}
	if g.contexts == nil {
		g.contexts = map[task.ID]decodedContext{}
	}
	g.contexts[t.ID] = decodedContext{from, limit.Document(from)}
	return g.contexts[t.ID].document
}

// stageOf puts rates last, so that a step that has used one waits for nothing else.
func stageOf(g Gate) int {
	if g.Permits > 0 {
		return 0
	}
	return 1
}

func (g *gates) save() error {
	var waiting []Permit
	for _, p := range g.passing {
		if _, at := task.LimitOf(p.step.Queue); p.step.State == task.StepEnqueued && !at {
			waiting = append(waiting, p.Permit)
		}
	}
	if len(waiting) > 0 {
		if err := g.u.E.gateRows.AddPermits(g.u.Ctx, g.u.Tx, waiting); err != nil {
			return err
		}
	}
	if len(g.unused) > 0 {
		if err := g.u.E.gateRows.Refund(g.u.Ctx, g.u.Tx, g.unused); err != nil {
			return err
		}
	}
	if len(g.begun) > 0 {
		if err := g.u.E.gateRows.FreePasses(g.u.Ctx, g.u.Tx, g.begun); err != nil {
			return err
		}
	}
	if len(g.freed) > 0 {
		if err := g.u.E.gateRows.FreePermits(g.u.Ctx, g.u.Tx, g.freed); err != nil {
			return err
		}
	}
	if len(g.signals) == 0 {
		return nil
	}
	list := make([]Gate, 0, len(g.signals))
	for _, s := range g.signals {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Gate) int { return cmp.Compare(a.No, b.No) })
	return g.u.E.gateRows.Signal(g.u.Ctx, g.u.Tx, list)
}

func (g *gates) stirred() bool { return g.passable || len(g.signals) > 0 }

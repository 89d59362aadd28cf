package submit

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A unique key is a hash of chosen fields of a submission's context. The one task that guards a key answers a
// submission with that key, refuses it, or is replaced if it has not begun.
//
// A key's row names the bound task, whose row shows whether it guards the key. So the transaction that ends the guard
// frees the key, and the hot path need not read keys.

// UniqueMatch is the effect of a unique key on a submission, and the rule.
type UniqueMatch struct {
	Outcome kernel.UniqueOutcome
	By      []string
	// Holder is the guarding task, or for UniqueReplaced the cancelled one.
	Holder kernel.Holder
	// Begun: the task had begun, so it was not replaced.
	Begun bool
}

type uniqueKey struct {
	task.Unique
	key string
}

func (d *Draft) setUnique(at string) *task.Problem {
	rule := d.In.Unique
	if rule == nil {
		rule = d.template.Unique
	}
	if rule.Off() || d.In.Meta.Child != nil { // a parent waits for its own child, not for another task
		return nil
	}
	k := &uniqueKey{Unique: rule.Resolved()}
	var err error
	if k.key, err = uniqueKeyIn(&k.Unique, d.template, d.In.Context); err != nil {
		return &task.Problem{Location: at + "/context", Message: err.Error()}
	}
	d.unique = k
	return nil
}

// Known idempotency keys and guarded unique keys create no task.
func (e *Room) knownDrafts(ctx context.Context, drafts []*Draft) (map[*Draft]bool, error) {
	known, err := e.knownKeys(ctx, drafts)
	if err != nil {
		return nil, err
	}
	var names []kernel.KeyName
	for _, d := range drafts {
		if d.unique != nil && d.unique.OnConflict != task.ReplaceExisting {
			names = append(names, d.uniqueName())
		}
	}
	if len(names) == 0 {
		return known, nil
	}
	guardians, err := e.UniqueStore.Guardians(ctx, names)
	if err != nil || len(guardians) == 0 {
		return known, err
	}
	if known == nil {
		known = map[*Draft]bool{}
	}
	for _, d := range drafts {
		if d.unique != nil && d.unique.OnConflict != task.ReplaceExisting {
			if g, bound := guardians[d.uniqueName()]; bound && g.Guards(e.Now()) {
				known[d] = true
			}
		}
	}
	return known, nil
}

func (d *Draft) uniqueName() kernel.KeyName {
	return kernel.KeyName{Namespace: d.template.Namespace, Key: d.unique.key}
}

type uniqueSlot struct {
	name   kernel.KeyName
	before kernel.Guardian // guards the key since earlier; zero: none
	begun  bool            // before cannot be replaced
	winner *Draft          // nil: before keeps the key
	// asking are the undecided submissions, in order.
	asking []*Draft
	added  *task.Task // winner's task, once made
}

// decide lets the submissions meet the guarding task, and each other.
func (s *uniqueSlot) decide() (winner *Draft) {
	winner = s.winner
	for _, d := range s.asking {
		free := winner == nil && s.before.Task.IsZero()
		replaces := d.unique.OnConflict == task.ReplaceExisting && (winner != nil || !s.begun)
		if free || replaces {
			winner = d
		}
	}
	return winner
}

func (b *Builder) id(d *Draft) task.ID {
	if d.In.IdempotencyKey != "" {
		return b.keys[d.keyName()].bound.Task
	}
	id, found := b.ids[d]
	if !found {
		id = b.U.E.Store.IDs().Take(b.U.Now.Time(), len(d.steps)+1)
		if b.ids == nil {
			b.ids = map[*Draft]task.ID{}
		}
		b.ids[d] = id
	}
	return id
}

func (b *Builder) holder(d *Draft) kernel.Holder {
	h := kernel.Holder{Task: b.id(d), While: d.unique.While}
	if d.unique.Period > 0 {
		h.Until = b.U.Now.Add(d.unique.Period)
	}
	return h
}

// The slots show the keys before these drafts. A draft whose idempotency key names a task needs none.
func (b *Builder) askingSlots(drafts []*Draft) ([]*uniqueSlot, error) {
	var list []*uniqueSlot
	slots := map[kernel.KeyName]*uniqueSlot{}
	for _, d := range drafts {
		if d.unique == nil {
			continue
		}
		if d.In.IdempotencyKey != "" {
			if b.keys[d.keyName()].owner == nil {
				if _, _, found, err := b.existing(d); err != nil || found {
					if err != nil {
						return nil, err
					}
					continue
				}
			}
			if b.keys[d.keyName()].owner != d {
				continue
			}
		}
		name := d.uniqueName()
		s := slots[name]
		if s == nil {
			s = &uniqueSlot{name: name}
			if earlier := b.unique[name]; earlier != nil { // of another call here
				*s = *earlier
			}
			slots[name] = s
			list = append(list, s)
		}
		s.asking = append(s.asking, d)
	}
	return list, nil
}

// With ErrKeyLocked nothing is bound.
func (b *Builder) takeUnique(drafts []*Draft, patient bool) error {
	if !slices.ContainsFunc(drafts, func(d *Draft) bool { return d.unique != nil }) {
		return nil
	}
	slots, err := b.askingSlots(drafts)
	if err != nil || len(slots) == 0 {
		return err
	}
	bind := func() error { return b.bindUnique(slots) }
	if patient {
		err = bind()
	} else {
		err = Of(b.U.E).UniqueStore.WithoutWaiting(b.U.Ctx, b.U.Tx, bind)
	}
	if err != nil {
		return err
	}
	if b.unique == nil {
		b.unique = map[kernel.KeyName]*uniqueSlot{}
	}
	for _, s := range slots {
		if earlier := b.unique[s.name]; earlier != nil {
			*earlier, s = *s, earlier // receipts refer to it
		}
		b.unique[s.name] = s
		s.asking = nil
		if s.winner != nil && !s.before.Task.IsZero() && !s.begun {
			if err := b.replace(&s.before, b.id(s.winner)); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxRaces bounds how often bindUnique restarts after faster transactions.
const maxRaces = 10

func (b *Builder) bindUnique(slots []*uniqueSlot) error {
	for range maxRaces {
		if err := b.askUnique(slots); err != nil {
			return err
		}
		if err := b.lookAtHolders(slots); err != nil {
			return err
		}
		var err error
		if slots, err = b.moveUnique(slots); err != nil || len(slots) == 0 {
			return err
		}
	}
	return task.Errorf(task.Unavailable, "others submit under the same unique keys all the time")
}

func (b *Builder) askUnique(slots []*uniqueSlot) error {
	var asked []*uniqueSlot
	var asks []kernel.UniqueAsk
	for _, s := range slots {
		if s.winner == nil && s.before.Task.IsZero() {
			asked, asks = append(asked, s), append(asks, kernel.UniqueAsk{Name: s.name, To: b.holder(s.decide())})
		}
	}
	if len(asks) == 0 {
		return nil
	}
	answers, err := Of(b.U.E).UniqueStore.TakeUnique(b.U.Ctx, b.U.Tx, asks, b.U.Now)
	if err != nil {
		return err
	}
	for i, s := range asked {
		if s.before = answers[i]; s.before.Task.IsZero() {
			s.winner = s.decide()
		}
	}
	return nil
}

func (b *Builder) lookAtHolders(slots []*uniqueSlot) error {
	var wanted []*uniqueSlot
	var ids []task.ID
	for _, s := range slots {
		replaces := func(d *Draft) bool { return d.unique.OnConflict == task.ReplaceExisting }
		if s.winner == nil && slices.ContainsFunc(s.asking, replaces) {
			wanted, ids = append(wanted, s), append(ids, s.before.Task)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := b.U.Rows.GatherTasks(ids); err != nil {
		return err
	}
	for _, s := range wanted {
		var err error
		if s.begun, err = b.begun(s.before.Task); err != nil {
			return err
		}
	}
	return nil
}

// moveUnique returns the keys moved elsewhere meanwhile, as if not requested.
func (b *Builder) moveUnique(slots []*uniqueSlot) (again []*uniqueSlot, err error) {
	var moving []*uniqueSlot
	var moves []kernel.UniqueMove
	for _, s := range slots {
		winner := s.decide()
		if winner == s.winner {
			continue
		}
		from := s.before.Task
		if s.winner != nil {
			from = b.id(s.winner)
		}
		moving, moves = append(moving, s), append(moves, kernel.UniqueMove{Name: s.name, From: from, To: b.holder(winner)})
	}
	if len(moves) == 0 {
		return nil, nil
	}
	moved, err := Of(b.U.E).UniqueStore.MoveUnique(b.U.Ctx, b.U.Tx, moves)
	if err != nil {
		return nil, err
	}
	for _, s := range moving {
		if moved[s.name] {
			s.winner = s.decide()
		} else {
			s.before, s.begun, s.winner = kernel.Guardian{}, false, nil
			again = append(again, s)
		}
	}
	return again, nil
}

// A task cannot be replaced once one of its steps has begun, or it is settled.
func (b *Builder) begun(id task.ID) (bool, error) {
	u := b.U
	t, err := u.Rows.Task(id)
	if err != nil || t == nil || t.State.Settled() {
		return true, err
	}
	steps, err := u.Rows.Siblings(kernel.Family{Task: id})
	return slices.ContainsFunc(steps, (*task.Step).Begun), err
}

func (b *Builder) replace(old *kernel.Guardian, by task.ID) error {
	u := b.U
	t, err := u.Rows.Task(old.Task)
	if err != nil || t == nil || t.State.Terminal() { // replaced by an earlier call here
		return err
	}
	cause := "replaced by the task " + by.String()
	return u.End(t, kernel.System, cause+", submitted under the same unique key", cause)
}

// find returns the receipt for an existing task, or the ID of the draft's own task.
func (b *Builder) find(d *Draft) (r Receipt, id task.ID, found bool, err error) {
	if d.In.IdempotencyKey != "" {
		if r, id, found, err = b.existing(d); err != nil || found {
			b.U.Observed.Known()
			return r, id, found, err
		}
	}
	if d.unique == nil {
		return r, id, false, nil
	}
	s := b.unique[d.uniqueName()]
	if s.winner == d {
		return r, b.id(d), false, nil
	}
	r = b.duplicate(d, s)
	if d.In.IdempotencyKey == "" {
		return r, id, true, nil
	}
	// A refused submission frees its idempotency key; otherwise it names the answering task.
	held, expires := b.keys[d.keyName()], b.expires()
	if r.Err != nil {
		expires = b.U.Now
	}
	held.bound.Task, held.slot, held.owner = r.ID, s, nil
	return r, id, true, Of(b.U.E).KeyStore.BindKey(b.U.Ctx, b.U.Tx, d.keyName(), held.bound, expires)
}

func (b *Builder) duplicate(d *Draft, s *uniqueSlot) Receipt {
	m := &UniqueMatch{Outcome: kernel.UniqueReturned, Holder: s.before.Holder}
	r := Receipt{ID: s.before.Task, State: s.before.State, Unique: m}
	if s.winner != nil {
		m.Holder = b.holder(s.winner)
		r.ID, r.State = m.Holder.Task, ""
		if b.late == nil {
			b.late = map[*Draft]*uniqueSlot{}
		}
		b.late[d] = s
	}
	if d.unique == nil { // shares the idempotency key of one answered so
		r.Unique = nil
		return r
	}
	m.By = d.unique.By
	switch {
	case d.unique.OnConflict == task.RefuseDuplicate:
		m.Outcome = kernel.UniqueRefused
		r.Err = &task.Error{Code: task.Conflict, Message: "another task guards the unique key of the submission",
			Hint: "submit it again when that task no longer guards the key, or with on_conflict: return to get that task",
			Problems: []task.Problem{{Location: fmt.Sprintf("/tasks/%d/unique", d.place),
				Message: fmt.Sprintf("names the task %s, which guards the key", r.ID)}}}
	case d.unique.OnConflict == task.ReplaceExisting && s.winner != nil:
		m.Outcome = kernel.UniqueSuperseded
	case d.unique.OnConflict == task.ReplaceExisting:
		m.Begun = s.begun
	}
	b.U.Observed.Unique(m.Outcome, 1)
	return r
}

// holds marks a new task with its unique key, and returns the replaced one, if any.
func (b *Builder) holds(d *Draft, t *task.Task) *UniqueMatch {
	s, h := b.unique[d.uniqueName()], b.holder(d)
	t.Meta.Unique = &task.UniqueMark{Key: d.unique.key, By: d.unique.By, While: h.While, Until: h.Until}
	s.added = t
	if s.before.Task.IsZero() {
		return nil
	}
	b.U.Observed.Unique(kernel.UniqueReplaced, 1)
	return &UniqueMatch{Outcome: kernel.UniqueReplaced, By: d.unique.By, Holder: s.before.Holder}
}

func (b *Builder) completeReceipts(drafts []*Draft, receipts []Receipt) {
	if len(b.late) == 0 || receipts == nil {
		return
	}
	for i, d := range drafts {
		if s := b.late[d]; s != nil {
			receipts[i].State = s.added.State
		}
	}
}

// GuardsUnique reports whether a task guards its unique key now.
func (e *Room) GuardsUnique(ctx context.Context, t *task.Task) (bool, error) {
	m := t.Meta.Unique
	if m == nil || !m.Guards(t.State, e.Now()) {
		return false, nil
	}
	def, err := e.TemplateOf(ctx, t.DefID)
	if err != nil {
		return false, err
	}
	name := kernel.KeyName{Namespace: def.Namespace, Key: m.Key}
	guardians, err := e.UniqueStore.Guardians(ctx, []kernel.KeyName{name})
	return err == nil && guardians[name].Task == t.ID, err
}

package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ErrKeyLocked reports that an open transaction is binding the idempotency key.
var ErrKeyLocked = errors.New("the idempotency key is being bound by another transaction")

func (d *draft) keyName() KeyName { return KeyName{d.template.Namespace, d.in.IdempotencyKey} }

type heldKey struct {
	bound Binding
	owner *draft // the first submission with the key, while bound to it; else nil
	// slot is the unique key that answered the owner.
	slot *uniqueSlot
}

// takeKeys binds all keys or none. Of drafts with one key, the first gets it.
func (b *builder) takeKeys(drafts []*draft, patient bool) error {
	var asks []KeyAsk
	var owners []*draft
	asked := map[KeyName]bool{}
	for _, d := range drafts {
		name := d.keyName()
		if d.in.IdempotencyKey == "" || asked[name] || b.keys[name] != nil {
			continue
		}
		asked[name] = true
		id := b.u.e.store.IDs().Take(b.u.now.Time(), len(d.steps)+1)
		asks, owners = append(asks, KeyAsk{name, Binding{Task: id, Hash: d.hash}}), append(owners, d)
	}
	if len(asks) == 0 {
		return nil
	}
	answers, err := b.u.e.keyStore.TakeKeys(b.u.ctx, b.u.tx, asks, b.u.now, b.expires(), patient)
	if err != nil {
		return err
	}
	if b.keys == nil {
		b.keys = map[KeyName]*heldKey{}
	}
	for i, a := range answers {
		held := &heldKey{bound: asks[i].To, owner: owners[i]}
		if a.Taken {
			held = &heldKey{bound: a.Bound}
		}
		b.keys[asks[i].Name] = held
	}
	return nil
}

func (b *builder) expires() task.Instant { return b.u.now.Add(b.u.e.cfg.IdempotencyWindow) }

// maxLocked calls of a batch may find locked keys before the rest is put off untried.
const maxLocked = 16

// reserve waits for an open transaction elsewhere only if patient; otherwise it returns ErrKeyLocked.
func (b *builder) reserve(drafts []*draft, patient bool) error {
	if err := b.takeKeys(drafts, patient); err != nil {
		return err
	}
	return b.takeUnique(drafts, patient)
}

// takeKeysOf reports which calls must come again because an open transaction is binding one of their keys. It takes
// all keys in one statement, and tries calls singly only if one is locked. A call that must come again may leave keys
// bound to tasks that do not exist: such keys are free.
func (b *builder) takeKeysOf(calls [][]*draft) (locked []bool, err error) {
	locked = make([]bool, len(calls))
	if err := b.reserve(slices.Concat(calls...), false); !errors.Is(err, ErrKeyLocked) {
		return locked, err
	}
	tries := 0
	for i, c := range calls {
		if !slices.ContainsFunc(c, func(d *draft) bool { return d.in.IdempotencyKey != "" || d.unique != nil }) {
			continue
		}
		err := error(ErrKeyLocked)
		if tries < maxLocked {
			err = b.reserve(c, false)
		}
		switch {
		case errors.Is(err, ErrKeyLocked):
			locked[i] = true
			tries++
		case err != nil:
			return nil, err
		}
	}
	return locked, nil
}

func (b *builder) existing(d *draft) (r Receipt, id task.ID, found bool, err error) {
	u, held := b.u, b.keys[d.keyName()]
	if held.slot != nil {
		if r = b.duplicate(d, held.slot); r.Err == nil {
			r.Err = u.e.mismatch(d, held.bound)
		}
		return r, id, true, nil
	}
	if held.owner == d {
		return r, held.bound.Task, false, nil
	}
	for _, t := range b.tasks { // submitted in this transaction
		if t.ID == held.bound.Task {
			return u.e.known(d, t, held.bound), id, true, nil
		}
	}
	t, err := u.rows.task(held.bound.Task)
	if err != nil {
		return r, id, false, err
	}
	if t == nil || u.e.keyIsFree(t.State) && !d.in.Meta.Intake.Same(t.Meta.Intake) {
		// the task was deleted, or its key may be reused: bind it anew
		id = u.e.store.IDs().Take(u.now.Time(), len(d.steps)+1)
		*held = heldKey{bound: Binding{Task: id, Hash: d.hash}, owner: d}
		return r, id, false, u.e.keyStore.BindKey(u.ctx, u.tx, d.keyName(), held.bound, b.expires())
	}
	return u.e.known(d, t, held.bound), id, true, nil
}

func (e *Engine) keyIsFree(s task.State) bool { return s.Terminal() && e.cfg.ResubmitAfterTerminal }

// known answers a repeated submission with the existing task and Created false.
func (e *Engine) known(d *draft, t *task.Task, bound Binding) Receipt {
	r := Receipt{ID: t.ID, State: t.State}
	if d.in.Meta.Intake.Same(t.Meta.Intake) { // the intake's settings may have changed since
		return r
	}
	r.Err = e.mismatch(d, bound)
	return r
}

func (e *Engine) mismatch(d *draft, bound Binding) error {
	if e.cfg.IdempotencyMismatch != settings.MismatchConflict || bound.Hash == "" || bound.Hash == d.hash {
		return nil
	}
	at := fmt.Sprintf("/tasks/%d/idempotency_key", d.place)
	return &task.Error{Code: task.Conflict, Message: "the idempotency key was used for another submission",
		Hint: "use a new key for a new task, or send again what was sent with this one",
		Problems: []task.Problem{
			{Location: at, Message: fmt.Sprintf("names the task %s, which was submitted with another body", bound.Task)}}}
}

func (e *Engine) knownKeys(ctx context.Context, drafts []*draft) (map[*draft]bool, error) {
	var names []KeyName
	for _, d := range drafts {
		if d.in.IdempotencyKey != "" {
			names = append(names, d.keyName())
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	bound, err := e.keyStore.BoundTasks(ctx, names, e.instant())
	if err != nil || len(bound) == 0 {
		return nil, err
	}
	ids := make([]task.ID, 0, len(bound))
	for _, id := range bound {
		ids = append(ids, id)
	}
	statuses, err := e.store.TaskStatuses(ctx, ids)
	if err != nil {
		return nil, err
	}
	there := map[task.ID]bool{}
	for _, s := range statuses {
		there[s.ID] = !e.keyIsFree(s.State)
	}
	out := map[*draft]bool{}
	for _, d := range drafts {
		if id, is := bound[d.keyName()]; is && there[id] {
			out[d] = true
		}
	}
	return out, nil
}

// hashOf detects another submission under a key. JSON formatting, the order of capabilities, the trace and the API do
// not matter. 16 bytes of the SHA-256 suffice, because an attacker could only confuse submissions under its own key.
func (e *Engine) hashOf(in *Submission) (string, error) {
	body := struct {
		Form         int // separates versions of the hashed form
		Name         string
		TaskType     string
		Version      string
		Context      json.RawMessage
		Priority     string
		Capabilities []string
		Timeout      time.Duration
		MaxRetries   *int
		RunAt        task.Instant
		Labels       []string // texts that are only stored
		Tags         []string
		Estimate     int
	}{
		1, in.Name, in.TaskType, in.Version, nil, in.Priority, task.Capabilities(in.Capabilities), in.Timeout, in.MaxRetries,
		in.RunAt,
		[]string{in.CorrelationID, in.Meta.ParentCorrelationID, in.Meta.Initiator, in.Meta.SourceSystem, in.Meta.Reason},
		in.Meta.Tags, in.Meta.Estimate,
	}
	if in.Meta.OrderingKey != "" { // conditional, so that stored hashes of other submissions stay valid
		body.Labels = append(body.Labels, in.Meta.OrderingKey)
	}
	if in.Meta.Deadline != 0 {
		body.Labels = append(body.Labels, fmt.Sprintf("deadline %d", in.Meta.Deadline))
	}
	if in.Unique != nil {
		body.Labels = append(body.Labels, fmt.Sprintf("unique %+v", *in.Unique))
	}
	if level, ok := e.Level(in.Priority); ok && in.Priority != "" {
		body.Priority = e.PriorityName(level)
	}
	// An encoded value has other bytes each time, so it is not compared.
	readable, err := envelope.Rewrite(in.Context, func(_ string, e envelope.Envelope) ([]byte, error) {
		return json.Marshal("codec " + e.Codec)
	})
	if err != nil {
		return "", fmt.Errorf("hash a submission: %w", err)
	}
	if body.Context, err = canonicalJSON(readable); err != nil {
		return "", fmt.Errorf("hash a submission: %w", err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("hash a submission: %w", err)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16]), nil
}

// canonicalJSON sorts keys and drops white space. Numbers keep their spelling: 1.0 is not 1.
func canonicalJSON(document []byte) ([]byte, error) {
	if document == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

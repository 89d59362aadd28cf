package submit

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

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ErrKeyLocked reports that an open transaction is binding the idempotency key.
var ErrKeyLocked = errors.New("the idempotency key is being bound by another transaction")

func (d *Draft) keyName() kernel.KeyName {
	return kernel.KeyName{Namespace: d.template.Namespace, Key: d.In.IdempotencyKey}
}

type heldKey struct {
	bound kernel.Binding
	owner *Draft // the first submission with the key, while bound to it; else nil
	// slot is the unique key that answered the owner.
	slot *uniqueSlot
}

// takeKeys binds all keys or none. Of drafts with one key, the first gets it.
func (b *Builder) takeKeys(drafts []*Draft, patient bool) error {
	var asks []kernel.KeyAsk
	var owners []*Draft
	asked := map[kernel.KeyName]bool{}
	for _, d := range drafts {
		name := d.keyName()
		if d.In.IdempotencyKey == "" || asked[name] || b.keys[name] != nil {
			continue
		}
		asked[name] = true
		id := b.U.E.Store.IDs().Take(b.U.Now.Time(), len(d.steps)+1)
		asks, owners = append(asks, kernel.KeyAsk{Name: name, To: kernel.Binding{Task: id, Hash: d.hash}}), append(owners, d)
	}
	if len(asks) == 0 {
		return nil
	}
	answers, err := Of(b.U.E).KeyStore.TakeKeys(b.U.Ctx, b.U.Tx, asks, b.U.Now, b.expires(), patient)
	if err != nil {
		return err
	}
	if b.keys == nil {
		b.keys = map[kernel.KeyName]*heldKey{}
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

func (b *Builder) expires() task.Instant { return b.U.Now.Add(b.U.E.Cfg.IdempotencyWindow) }

// maxLocked calls of a batch may find locked keys before the rest is put off untried.
const maxLocked = 16

// reserve waits for an open transaction elsewhere only if patient; otherwise it returns ErrKeyLocked.
func (b *Builder) reserve(drafts []*Draft, patient bool) error {
	if err := b.takeKeys(drafts, patient); err != nil {
		return err
	}
	return b.takeUnique(drafts, patient)
}

// takeKeysOf reports which calls must come again because an open transaction is binding one of their keys. It takes
// all keys in one statement, and tries calls singly only if one is locked. A call that must come again may leave keys
// bound to tasks that do not exist: such keys are free.
func (b *Builder) takeKeysOf(calls [][]*Draft) (locked []bool, err error) {
	locked = make([]bool, len(calls))
	if err := b.reserve(slices.Concat(calls...), false); !errors.Is(err, ErrKeyLocked) {
		return locked, err
	}
	tries := 0
	for i, c := range calls {
		if !slices.ContainsFunc(c, func(d *Draft) bool { return d.In.IdempotencyKey != "" || d.unique != nil }) {
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

func (b *Builder) existing(d *Draft) (r Receipt, id task.ID, found bool, err error) {
	u, held := b.U, b.keys[d.keyName()]
	if held.slot != nil {
		if r = b.duplicate(d, held.slot); r.Err == nil {
			r.Err = Of(u.E).mismatch(d, held.bound)
		}
		return r, id, true, nil
	}
	if held.owner == d {
		return r, held.bound.Task, false, nil
	}
	for _, t := range b.Tasks { // submitted in this transaction
		if t.ID == held.bound.Task {
			return Of(u.E).known(d, t, held.bound), id, true, nil
		}
	}
	t, err := u.Rows.Task(held.bound.Task)
	if err != nil {
		return r, id, false, err
	}
	if t == nil || Of(u.E).keyIsFree(t.State) && !d.In.Meta.Intake.Same(t.Meta.Intake) {
		// the task was deleted, or its key may be reused: bind it anew
		id = u.E.Store.IDs().Take(u.Now.Time(), len(d.steps)+1)
		*held = heldKey{bound: kernel.Binding{Task: id, Hash: d.hash}, owner: d}
		return r, id, false, Of(u.E).KeyStore.BindKey(u.Ctx, u.Tx, d.keyName(), held.bound, b.expires())
	}
	return Of(u.E).known(d, t, held.bound), id, true, nil
}

func (e *Room) keyIsFree(s task.State) bool { return s.Terminal() && e.Cfg.ResubmitAfterTerminal }

// known answers a repeated submission with the existing task and Created false.
func (e *Room) known(d *Draft, t *task.Task, bound kernel.Binding) Receipt {
	r := Receipt{ID: t.ID, State: t.State}
	if d.In.Meta.Intake.Same(t.Meta.Intake) { // the intake's settings may have changed since
		return r
	}
	r.Err = e.mismatch(d, bound)
	return r
}

func (e *Room) mismatch(d *Draft, bound kernel.Binding) error {
	if e.Cfg.IdempotencyMismatch != settings.MismatchConflict || bound.Hash == "" || bound.Hash == d.hash {
		return nil
	}
	at := fmt.Sprintf("/tasks/%d/idempotency_key", d.place)
	return &task.Error{Code: task.Conflict, Message: "the idempotency key was used for another submission",
		Hint: "use a new key for a new task, or send again what was sent with this one",
		Problems: []task.Problem{
			{Location: at, Message: fmt.Sprintf("names the task %s, which was submitted with another body", bound.Task)}}}
}

func (e *Room) knownKeys(ctx context.Context, drafts []*Draft) (map[*Draft]bool, error) {
	var names []kernel.KeyName
	for _, d := range drafts {
		if d.In.IdempotencyKey != "" {
			names = append(names, d.keyName())
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	bound, err := e.KeyStore.BoundTasks(ctx, names, e.Now())
	if err != nil || len(bound) == 0 {
		return nil, err
	}
	ids := make([]task.ID, 0, len(bound))
	for _, id := range bound {
		ids = append(ids, id)
	}
	statuses, err := e.Store.TaskStatuses(ctx, ids)
	if err != nil {
		return nil, err
	}
	there := map[task.ID]bool{}
	for _, s := range statuses {
		there[s.ID] = !e.keyIsFree(s.State)
	}
	out := map[*Draft]bool{}
	for _, d := range drafts {
		if id, is := bound[d.keyName()]; is && there[id] {
			out[d] = true
		}
	}
	return out, nil
}

// hashOf detects another submission under a key. JSON formatting, the order of capabilities, the trace and the API do
// not matter. 16 bytes of the SHA-256 suffice, because an attacker could only confuse submissions under its own key.
func (e *Room) hashOf(in *Submission) (string, error) {
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

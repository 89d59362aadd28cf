package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// KeyName names an idempotency key.
type KeyName struct{ Namespace, Key string }

// Binding is what an idempotency key stands for.
type Binding struct {
	Task task.ID
	// Hash is that of what was submitted with the key; "" where none was stored.
	Hash string
}

// KeyMismatch says what a submission is answered whose idempotency key names a task
// that was submitted with another body.
type KeyMismatch string

// The answers.
const (
	MismatchConflict KeyMismatch = "conflict" // a Conflict error
	MismatchAccept   KeyMismatch = "accept"   // the task that the key names
)

// keyName is the name of a draft's idempotency key.
func (d *draft) keyName() KeyName { return KeyName{d.template.Namespace, d.in.IdempotencyKey} }

// existing finds the task that an idempotency key is bound to.
func (b *builder) existing(d *draft, id task.ID) (Receipt, bool, error) {
	u, to := b.u, Binding{Task: id, Hash: d.hash}
	expires := u.now.Add(u.e.cfg.IdempotencyWindow)
	bound, taken, err := u.tx.TakeKey(d.keyName(), to, u.now, expires)
	if err != nil || !taken {
		return Receipt{}, false, err
	}
	for _, t := range b.tasks { // submitted a moment ago, in this transaction
		if t.ID == bound.Task {
			return u.e.known(d, t, bound), true, nil
		}
	}
	t, err := u.task(bound.Task)
	if err != nil {
		return Receipt{}, false, err
	}
	if t == nil || u.e.keyIsFree(t.State) {
		// the task is gone, or its key may be used again: bind the key anew
		return Receipt{}, false, u.tx.BindKey(d.keyName(), to, expires)
	}
	return u.e.known(d, t, bound), true, nil
}

// keyIsFree reports whether the idempotency key of a task in a state may name another.
func (e *Engine) keyIsFree(s task.State) bool { return s.Terminal() && e.cfg.ResubmitAfterTerminal }

// known answers a submission whose key is bound to a task.
func (e *Engine) known(d *draft, t *task.Task, bound Binding) Receipt {
	r := Receipt{ID: t.ID, State: t.State}
	if e.cfg.IdempotencyMismatch == MismatchConflict && bound.Hash != "" && bound.Hash != d.hash {
		at := fmt.Sprintf("/tasks/%d/idempotency_key", d.place)
		r.Err = &task.Error{Code: task.Conflict, Message: "the idempotency key was used for another submission",
			Hint:     "use a new key for a new task, or send again what was sent with this one",
			Problems: []task.Problem{{Location: at, Message: fmt.Sprintf("names the task %s, which was submitted with another body", t.ID)}}}
	}
	return r
}

// knownKeys returns those of the drafts whose idempotency keys name tasks that a
// submission would be answered with.
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
	bound, err := e.store.BoundTasks(ctx, names, e.instant())
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

// hashOf is a hash of what a submission asks for, by which one that is sent again is
// told from another under the same key. How its JSON is written does not matter, nor
// the order of capabilities; neither do the trace that it belongs to and the API
// that it came through.
func (e *Engine) hashOf(in *Submission) (string, error) {
	body := struct {
		Form         int // of this hash: another form must not equal it by chance
		Name         string
		TaskType     string
		Version      string
		Context      json.RawMessage
		Priority     string
		Capabilities []string
		Timeout      time.Duration
		MaxRetries   *int
		RunAt        task.Instant
		Labels       []string // texts that are only kept
		Tags         []string
		Estimate     int
	}{
		1, in.Name, in.TaskType, in.Version, nil, in.Priority, task.Capabilities(in.Capabilities), in.Timeout, in.MaxRetries, in.RunAt,
		[]string{in.CorrelationID, in.Meta.ParentCorrelationID, in.Meta.Initiator, in.Meta.SourceSystem, in.Meta.Reason},
		in.Meta.Tags, in.Meta.Estimate,
	}
	if level, ok := e.Level(in.Priority); ok && in.Priority != "" {
		body.Priority = e.PriorityName(level)
	}
	var err error
	if body.Context, err = canonicalJSON(in.Context); err != nil {
		return "", fmt.Errorf("hash a submission: %w", err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("hash a submission: %w", err)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16]), nil
}

// canonicalJSON writes a document with sorted keys and without white space. Numbers
// stay as they are written: 1.0 is not 1.
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

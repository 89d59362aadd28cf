package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// recovery is what a case gets to know of its task, under "recovered" in its
// metadata.
type recovery struct {
	At    time.Time  `json:"at"`
	State task.State `json:"state"`            // that the task came to
	By    string     `json:"by"`               // the operator, or "system"
	Key   string     `json:"by_key,omitempty"` // name of the operator's API key
	How   string     `json:"how,omitempty"`    // what made it recover
	// FinishedAt is when it was over; then State is its last.
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// recovered notes that a task with a pending case goes on, or is over. An empty
// how is told from the acts of the transaction.
func (u *unit) recovered(t *task.Task, how string) {
	if t.Meta.Case != task.HasPending {
		return
	}
	if u.recoveries == nil {
		u.recoveries = map[*task.Task]string{}
	}
	u.recoveries[t] = how
}

// recovers reports whether a task that left a state is out of its trouble.
func recovers(t *task.Task, was task.State) bool {
	return was == task.Errored && t.State != task.Errored || t.State.Terminal()
}

// noteRecoveries writes into the pending cases of tasks how they recovered, and
// resolves them where that is configured.
func (u *unit) noteRecoveries() error {
	if len(u.recoveries) == 0 {
		return nil
	}
	var ids []task.ID
	of := map[task.ID]*task.Task{}
	for t := range u.recoveries {
		if t.State == task.Errored || t.Meta.Case != task.HasPending {
			continue // it has failed again, or its case was resolved, in the same transaction
		}
		ids = append(ids, t.ID)
		of[t.ID] = t
	}
	if len(ids) == 0 {
		return nil
	}
	cases, err := u.tx.PendingCases(ids)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if err := u.noteRecovery(of[c.TaskID], c); err != nil {
			return err
		}
	}
	return nil
}

func (u *unit) noteRecovery(t *task.Task, c *task.Case) error {
	how := u.recoveries[t]
	taken := how != "" // by a worker: then the task was never in error
	if taken && c.Reason != task.ReasonWorkerUnavailable {
		return nil
	}
	before, err := recoveryOf(c)
	if err != nil || taken && before != nil {
		return err
	}
	now := recovery{At: u.now.Time(), State: t.State, By: System, How: how}
	if a := u.actOn(t.ID); a != nil && !taken {
		now.By, now.Key, now.How = a.Actor, u.key, a.Kind
	}
	if t.State.Terminal() {
		finished := u.now.Time()
		if before != nil {
			now.At, now.By, now.Key, now.How = before.At, before.By, before.Key, before.How
		}
		now.FinishedAt = &finished
	}
	notes := map[string]any{"recovered": now}
	if _, replayed := u.replayed[t]; replayed {
		notes["replayed"] = ReplayNote{Count: ReplaysOf(c).Count + 1, At: t.Meta.ReplayedAt.Ptr(), By: t.Meta.ReplayedBy, Key: t.Meta.ReplayedKey}
	}
	note, err := json.Marshal(notes)
	if err != nil {
		return fmt.Errorf("encode recovery: %w", err)
	}
	change := task.CaseChange{Actor: now.By, Metadata: note}
	if u.e.cfg.Cases.AutoResolve {
		return u.autoResolve(t, c, change)
	}
	_, err = u.changeCase(t, c, change)
	return err
}

// recoveryOf returns what a case knows of a recovery, nil for nothing.
func recoveryOf(c *task.Case) (*recovery, error) {
	var m struct {
		Recovered *recovery `json:"recovered"`
	}
	if c.Metadata == nil {
		return nil, nil
	}
	if err := json.Unmarshal(c.Metadata, &m); err != nil {
		// an operator may have put something of his own there
		return nil, nil //nolint:nilerror // then there is no note of ours
	}
	return m.Recovered, nil
}

func (u *unit) autoResolve(t *task.Task, c *task.Case, change task.CaseChange) error {
	change.Actor, change.Status = System, task.CaseResolved
	if t.State == task.Cancelled {
		change.Status = task.CaseCancelled
	}
	if c.Notes == "" {
		notes := "the task has recovered: it is " + string(t.State)
		change.Notes = &notes
	}
	act, err := u.changeCase(t, c, change)
	if err == nil {
		u.acts = append(u.acts, act)
	}
	return err
}

// actOn returns the last act on a task in this transaction, or nil.
func (u *unit) actOn(id task.ID) *task.Act {
	for i := len(u.acts) - 1; i >= 0; i-- {
		if u.acts[i].TaskID == id {
			return &u.acts[i]
		}
	}
	return nil
}

package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SteppedNote begins the keys of notes for tasker doctor about rows that loops skip, by loop.
const SteppedNote = "stepped_over:"

// steppedEvery bounds how often a loop's note is written: a resting row is tried again within a minute.
const steppedEvery = 30 * time.Second

// Stepped is the content of a note: the rows that one run skipped.
type Stepped struct {
	At    task.Instant `json:"at"`
	Rows  int          `json:"rows"`
	First string       `json:"first"`
}

type steppedTold struct {
	mu sync.Mutex
	at map[string]task.Instant
}

// StepOver stores skipped rows for tasker doctor.
func (e *Kernel) StepOver(ctx context.Context, loop string, rows *due.Error) error {
	now := e.Now()
	e.steppedOver.mu.Lock()
	if last := e.steppedOver.at[loop]; last != 0 && now < last.Add(steppedEvery) {
		e.steppedOver.mu.Unlock()
		return nil
	}
	if e.steppedOver.at == nil {
		e.steppedOver.at = map[string]task.Instant{}
	}
	e.steppedOver.at[loop] = now
	e.steppedOver.mu.Unlock()
	first := due.Error{What: rows.What, Faults: rows.Faults[:1]}
	text, err := json.Marshal(Stepped{At: now, Rows: len(rows.Faults), First: failure.Cut(first.Error(), MaxText)})
	if err != nil {
		return fmt.Errorf("encode a note: %w", err)
	}
	return e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		return e.NoteStore.Note(ctx, tx, SteppedNote+loop, string(text))
	})
}

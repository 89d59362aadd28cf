package load

import (
	"fmt"
	"slices"
	"sync"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

// saves are the checkpoints that a step's attempts have sent.
type saves struct {
	mu sync.Mutex
	// may are the values that the next attempt may receive: the last acknowledged one, and later ones without an
	// answer.
	may []string
}

// checkpoints compares the checkpoint that an attempt receives with those that were acknowledged, and stores two more.
// The first attempt fails after them. Attempts that overlap because a lease was lost may store in any order, so a
// value counts from when it is sent.
func (h *Handlers) checkpoints(o *order, job *worker.Job) error {
	known, _ := h.saved.LoadOrStore(o.Ref, &saves{may: []string{""}})
	s := known.(*saves)
	var got string
	if _, err := job.LastCheckpoint(&got); err != nil {
		return err
	}
	s.mu.Lock()
	fits, may := slices.Contains(s.may, got), slices.Clone(s.may)
	s.mu.Unlock()
	if !fits {
		return worker.NonRetryable(&tasker.Failure{Type: "checkpoint", Code: "E_CHECKPOINT",
			Message: fmt.Sprintf("attempt %d received the checkpoint %q and not one of %q", job.Attempt, got, may)})
	}
	for i := range 2 {
		value := fmt.Sprintf("%s.%d", job.Token, i)
		s.mu.Lock()
		s.may = append(s.may, value)
		s.mu.Unlock()
		if err := job.Checkpoint(value); err != nil {
			return err
		}
		s.mu.Lock()
		if at := slices.Index(s.may, value); at >= 0 { // older ones are over
			s.may = slices.Clone(s.may[at:])
		}
		s.mu.Unlock()
	}
	if job.Attempt == 1 {
		return fmt.Errorf("not yet: attempt %d", job.Attempt)
	}
	return nil
}

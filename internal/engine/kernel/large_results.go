package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Large results, above Limits.PayloadBytes, are kept in the blob store. A worker sends one under its lease, then
// settles the step with its key. See docs/design/0055-large-results.md.

const (
	maxLargeKey = 200
	// maxLargeSent bounds the large results of a step that are not deleted yet.
	maxLargeSent = 20
	// largeGrace is how long an unsettled large result is kept at least; longer while its lease may be in force.
	largeGrace = 24 * time.Hour
	// largeRetry is the pause of workers while the blob store fails.
	largeRetry = time.Second
)

// LargeContent is a worker's large result: checked JSON.
type LargeContent struct {
	Content io.ReadSeeker
	Bytes   int64
	Sum     [32]byte // SHA-256
}

// MaxLargeResult is the largest accepted result in bytes; 0 without a blob store.
func (e *Kernel) MaxLargeResult() int {
	if e.blobs == nil {
		return 0
	}
	return max(e.Cfg.Limits.LargeResultBytes, e.Cfg.Limits.PayloadBytes)
}

// SendLargeResult stores a large result under a lease in force, and renews the lease. The step then settles with its
// key. Repeating it is harmless. The object is noted in the database first, so that it is found if nothing ever
// refers to it. TooLarge: no blob store, too large a result, or a template with sensitive fields. Unavailable: the
// blob store fails. StaleToken: the lease is over.
func (e *Kernel) SendLargeResult(ctx context.Context, ref LeaseRef, c LargeContent) (*task.LargeResult, error) {
	if most := e.MaxLargeResult(); most == 0 {
		return nil, task.Errorf(task.TooLarge, "the result has %d bytes, and the server takes %d: it has no store for "+
			"larger ones", c.Bytes, e.Cfg.Limits.PayloadBytes)
	} else if c.Bytes > int64(most) {
		return nil, task.Errorf(task.TooLarge, "the result has %d bytes, and the server takes %d", c.Bytes, most)
	}
	if err := e.holds(ctx, ref); err != nil {
		return nil, err
	}
	l := task.NewLargeResult(ref.Step, ref.Token, c.Bytes, c.Sum, e.Now())
	err := e.Write(ctx, "send_large_result", func(u *Unit) error { return noteLarge(u, l) })
	if err != nil {
		return nil, err
	}
	if err := e.blobs.Put(ctx, l.Key, c.Content, c.Bytes, c.Sum); err != nil {
		return nil, blobsDown("store", err)
	}
	return l, nil
}

func (e *Kernel) holds(ctx context.Context, ref LeaseRef) error {
	answers, err := e.renew(ctx, ref.Worker, []LeaseRef{ref})
	switch {
	case err != nil:
		return err
	case answers[0].Status == Cancelled:
		return task.Errorf(task.WrongState, "the task of step %s was cancelled", ref.Step)
	case answers[0].Status == Lost:
		return answers[0].Err
	}
	return nil
}

func noteLarge(u *Unit, l *task.LargeResult) error {
	works, err := u.Rows.Load([]task.ID{l.Step})
	if err != nil {
		return err
	}
	if works[0].Step == nil {
		return task.Errorf(task.NotFound, "there is no step %s any more", l.Step)
	}
	t, err := u.Rows.Template(works[0].Step.DefID)
	if err != nil {
		return err
	}
	if in := works[0].Task.Meta.Intake; len(t.Sensitive) > 0 || in != nil && len(in.Sensitive) > 0 {
		return &task.Error{Code: task.TooLarge, Message: fmt.Sprintf("the result has %d bytes, and a result of a task with "+
			"sensitive fields may have %d", l.Bytes, u.E.Cfg.Limits.PayloadBytes),
			Hint: "larger results are kept in a store where fields can be neither masked nor encrypted"}
	}
	added, err := u.E.largeResults.AddLargeResult(u.Ctx, u.Tx, l, maxLargeSent)
	if err != nil || added {
		return err
	}
	return &task.Error{Code: task.Exhausted, RetryAfter: time.Minute, Message: fmt.Sprintf("%d results of step %s were "+
		"sent already, or this one is about to be deleted", maxLargeSent, l.Step)}
}

// blobsDown hides the cause, which may name hosts and files.
func blobsDown(verb string, err error) error {
	return &task.Error{Code: task.Unavailable, RetryAfter: largeRetry, Err: err,
		Message: "cannot " + verb + " a large result: the blob store does not work",
		Hint: "the log of the server says why. Nothing is lost: a worker sends its result again as long as it holds the " +
			"step"}
}

// takeLarge returns nil if none was sent under this lease.
func takeLarge(u *Unit, r *Result) (*task.LargeResult, error) {
	if !strings.HasPrefix(r.Large, task.LargeResultsOf(r.Step)+strconv.FormatInt(r.Token, 10)+"-") {
		return nil, nil
	}
	return u.E.largeResults.TakeLargeResult(u.Ctx, u.Tx, r.Large)
}

func noLargeResult(r *Result) error {
	return &task.Error{Code: task.Invalid, Message: "no large result of this reference was sent under the lease of step " +
		r.Step.String(), Hint: "send the result, and settle with the reference in the answer"}
}

// LargeResult opens the large result of a step. NotFound: no such step, no large result, or the object is gone.
// Unavailable: the blob store fails.
func (e *Kernel) LargeResult(ctx context.Context, taskID, stepID task.ID) (io.ReadCloser, *task.LargeResult, error) {
	_, steps, err := e.Steps(ctx, taskID)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range steps {
		if s.ID == stepID {
			return e.openLarge(ctx, s)
		}
	}
	return nil, nil, task.Errorf(task.NotFound, "the task %s has no step %s", taskID, stepID)
}

// LargeParentResult opens the large result of a direct dependency, and renews the step's lease.
func (e *Kernel) LargeParentResult(ctx context.Context, ref LeaseRef, parent string,
) (io.ReadCloser, *task.LargeResult, error) {
	if err := e.holds(ctx, ref); err != nil {
		return nil, nil, err
	}
	var from *task.Step
	err := e.Write(ctx, "read_large_result", func(u *Unit) error {
		from = nil
		works, err := u.Rows.Load([]task.ID{ref.Step})
		if err != nil || works[0].Step == nil {
			return err
		}
		t, err := u.Rows.Template(works[0].Step.DefID)
		if err != nil {
			return err
		}
		reads := t.Spec(works[0].Step).Reads()
		if len(reads) == 0 {
			return nil
		}
		parents, err := u.Rows.Siblings(FamilyOf(works[0].Step, reads))
		for _, p := range parents {
			if t.Spec(p).Name == parent {
				from = p
			}
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if from == nil {
		return nil, nil, task.Errorf(task.NotFound, "step %s has no dependency %q", ref.Step, parent)
	}
	return e.openLarge(ctx, from)
}

func (e *Kernel) openLarge(ctx context.Context, s *task.Step) (io.ReadCloser, *task.LargeResult, error) {
	l := task.LargeResultOf(s.ID, s.Result)
	if l == nil {
		return nil, nil, task.Errorf(task.NotFound, "step %s has no large result", s.ID)
	}
	if e.blobs == nil {
		return nil, nil, blobsDown("read", errors.New("none is configured"))
	}
	content, err := e.blobs.Get(ctx, l.Key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, &task.Error{Code: task.NotFound, Err: err, Message: "the large result of step " + s.ID.String() +
			" is missing in the blob store", Hint: "the database may be restored from a backup that is older or newer than " +
			"the store; run the step again"}
	case err != nil:
		return nil, nil, blobsDown("read", err)
	}
	return content, l, nil
}

const sweepBatch = 100

// SweepLargeResults deletes unreferenced large results: of deleted tasks, of repeated steps, and those sent a day ago
// and never settled. It returns how many, and whether there may be more. The list is updated first, so that no result
// can refer to a deleted object; a failed deletion is repeated.
func (e *Kernel) SweepLargeResults(ctx context.Context) (n int, more bool, err error) {
	if e.blobs == nil {
		return 0, false, nil
	}
	unused, err := e.largeResults.FindUnusedLargeResults(ctx, e.Now().Add(-largeGrace), sweepBatch)
	if err != nil || len(unused) == 0 {
		return 0, false, err
	}
	var doomed []string
	err = e.Write(ctx, "doom_large_results", func(u *Unit) error {
		doomed = nil
		for _, l := range unused {
			moved := l.State == task.LargeDoomed
			if !moved {
				var err error
				if moved, err = u.E.largeResults.DoomLargeResult(u.Ctx, u.Tx, l.Key, l.State); err != nil {
					return err
				}
			}
			if moved {
				doomed = append(doomed, l.Key)
			}
		}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	var gone []string
	var failed error
	for _, key := range doomed {
		if failed = e.blobs.Delete(ctx, key); failed != nil {
			failed = fmt.Errorf("delete a large result: %w", failed)
			break // the others would fail too
		}
		gone = append(gone, key)
	}
	if len(gone) > 0 {
		err = e.Write(ctx, "drop_large_results", func(u *Unit) error {
			return u.E.largeResults.DropLargeResults(u.Ctx, u.Tx, gone)
		})
	}
	return len(gone), len(unused) == sweepBatch && failed == nil && err == nil, errors.Join(failed, err)
}

type LargeError struct {
	Step  string
	Bytes int64
}

func (l *LargeError) Error() string {
	return fmt.Sprintf("the result of step %s has %d bytes and is kept in the blob store; expressions read results of up "+
		"to limits.payload_bytes: let the step return what they need, and a further step the rest", l.Step, l.Bytes)
}

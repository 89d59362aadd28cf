package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// shelf is a blob store in memory that fails on request.
type shelf struct {
	mu      sync.Mutex
	objects map[string]string
	down    error
}

func (s *shelf) Put(_ context.Context, key string, content io.ReadSeeker, _ int64, _ [32]byte) error {
	raw, err := io.ReadAll(content)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	s.objects[key] = string(raw)
	return err
}

func (s *shelf) Get(_ context.Context, key string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
	}
	content, found := s.objects[key]
	if !found {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

func (s *shelf) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	delete(s.objects, key)
	return nil
}

func (s *shelf) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

type largeRig struct {
	*testing.T
	e      *engine.Engine
	tick   func(time.Duration)
	shelf  *shelf
	worker *task.Worker
}

func newLargeRig(t *testing.T, opts engine.Options) *largeRig {
	t.Helper()
	r := &largeRig{T: t, shelf: &shelf{objects: map[string]string{}}}
	opts.Blobs = r.shelf
	opts.Config.Limits = settings.Limits{PayloadBytes: 300, LargeResultBytes: 1000}
	r.e, r.tick = newEngine(t, opts)
	if opts.Dispatcher != nil {
		r.must(r.e.MaintainDispatch(t.Context()))
	}
	r.worker = register(t, r.e, 10)
	return r
}

func (r *largeRig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *largeRig) task(t *task.Template) task.ID {
	r.Helper()
	t.Namespace = engine.DefaultNamespace
	if faults := t.Link(); len(faults) > 0 {
		r.Fatal(faults)
	}
	_, _, err := r.e.RegisterTemplate(r.Context(), t, engine.Registration{})
	r.must(err)
	return submit(r.T, r.e, engine.Submission{Name: t.Name, Version: t.Version})[0].ID
}

func (r *largeRig) poll() engine.Lease {
	r.Helper()
	leases, _, err := r.e.Poll(r.Context(), r.worker.ID, 1, 0, true)
	r.must(err)
	if len(leases) != 1 {
		r.Fatalf("%d steps are ready", len(leases))
	}
	return leases[0]
}

func (r *largeRig) ref(l *engine.Lease) engine.LeaseRef {
	return r.e.LeaseOf(l.Step.ID, r.worker.No, r.e.Token(&l.Step))
}

func (r *largeRig) send(l engine.Lease, content string) (*task.LargeResult, error) {
	return r.e.SendLargeResult(r.Context(), r.ref(&l), engine.LargeContent{Content: strings.NewReader(content),
		Bytes: int64(len(content)), Sum: sha256.Sum256([]byte(content))})
}

func (r *largeRig) settle(l engine.Lease, key string) engine.Answer {
	r.Helper()
	ref := r.ref(&l)
	answers, err := r.e.Settle(r.Context(), []engine.Result{{Step: ref.Step, Token: ref.Token, Worker: ref.Worker,
		At: ref.At, Status: engine.ResultCompleted, Large: key}})
	r.must(err)
	return answers[0]
}

// sweep returns the remaining keys.
func (r *largeRig) sweep() []string {
	r.Helper()
	_, _, err := r.e.SweepLargeResults(r.Context())
	r.must(err)
	return r.shelf.keys()
}

// longText is above the inline limit.
var longText = `"` + strings.Repeat("x", 500) + `"`

func two(name string) *task.Template {
	return &task.Template{Name: name, Version: "1", Steps: []task.StepSpec{{Name: "make", Handler: "make"},
		{Name: "use", Handler: "use", Dependencies: []string{"make"}}}}
}

func TestLargeResult(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]engine.Dispatcher{"Native": nil, "Dispatcher": memory.NewServer().Open()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newLargeRig(t, engine.Options{Dispatcher: d})
			id := r.task(two("two"))
			first := r.poll()
			sent, err := r.send(first, longText)
			r.must(err)
			again, err := r.send(first, longText)
			if err != nil || again.Key != sent.Key || len(r.shelf.keys()) != 1 {
				t.Fatalf("sent again: %+v, %v", again, err)
			}
			if a := r.settle(first, sent.Key); a.Err != nil || a.State != task.StepComplete {
				t.Fatalf("settled: %+v", a)
			}
			if a := r.settle(first, sent.Key); task.CodeOf(a.Err) != task.StaleToken {
				t.Errorf("settled twice: %+v", a)
			}
			second := r.poll()
			if large := second.LargeParents["make"]; large == nil || large.Bytes != int64(len(longText)) ||
				len(second.ParentResults) != 0 {
				t.Fatalf("the dependant got %+v, %v", large, second.ParentResults)
			}
			content, of, err := r.e.LargeParentResult(t.Context(), r.ref(&second), "make")
			r.must(err)
			if raw, err := io.ReadAll(content); err != nil || string(raw) != longText || of.Bytes != int64(len(longText)) {
				t.Errorf("the dependant read %d bytes, %v", len(raw), err)
			}
			if _, _, err := r.e.LargeParentResult(t.Context(), r.ref(&second), "use"); task.CodeOf(err) != task.NotFound {
				t.Errorf("the result of no dependency: %v", err)
			}
			if _, _, err := r.e.LargeParentResult(t.Context(), r.ref(&first), "make"); task.CodeOf(err) != task.StaleToken {
				t.Errorf("read under a lease that is over: %v", err)
			}
			content, _, err = r.e.LargeResult(t.Context(), id, first.Step.ID)
			r.must(err)
			if raw, _ := io.ReadAll(content); string(raw) != longText {
				t.Errorf("a reader got %d bytes", len(raw))
			}
			if _, _, err := r.e.LargeResult(t.Context(), id, second.Step.ID); task.CodeOf(err) != task.NotFound {
				t.Errorf("of a step without: %v", err)
			}
		})
	}
}

func TestLargeResultRefused(t *testing.T) {
	t.Parallel()
	r := newLargeRig(t, engine.Options{})
	r.task(two("two"))
	first := r.poll()
	if _, err := r.send(first, `"`+strings.Repeat("x", 1000)+`"`); task.CodeOf(err) != task.TooLarge {
		t.Error("too large:", err)
	}
	other := first
	other.Step.Token++
	if _, err := r.send(other, longText); task.CodeOf(err) != task.StaleToken {
		t.Error("under another lease:", err)
	}
	sent, err := r.send(first, longText)
	r.must(err)
	for _, key := range []string{"a", sent.Key + "0", strings.Replace(sent.Key, first.Step.ID.String(),
		task.ID{1}.String(), 1), strings.Replace(sent.Key, "/1-", "/2-", 1)} {
		if a := r.settle(first, key); task.CodeOf(a.Err) != task.Invalid || a.State != task.StepInProgress {
			t.Errorf("settled with %s: %+v", key, a)
		}
	}
	ref := r.ref(&first)
	_, err = r.e.Settle(t.Context(), []engine.Result{{Step: ref.Step, Token: ref.Token, Worker: ref.Worker, At: ref.At,
		Status: engine.ResultCompleted, Result: sent.Reference()}})
	if task.CodeOf(err) != task.Invalid {
		t.Error("a result that is a reference:", err)
	}
	for i := range 19 { // and the one above
		_, err := r.send(first, longText+strings.Repeat(" ", i+1))
		r.must(err)
	}
	if _, err := r.send(first, longText+strings.Repeat(" ", 20)); task.CodeOf(err) != task.Exhausted {
		t.Error("too many:", err)
	}
	if a := r.settle(first, sent.Key); a.Err != nil {
		t.Error("settled after all:", a.Err)
	}

	secret := two("secret")
	secret.Sensitive = []string{"/card"}
	r.task(secret)
	for {
		l := r.poll()
		if l.Template.Name == "two" {
			continue
		}
		if _, err := r.send(l, longText); task.CodeOf(err) != task.TooLarge || !strings.Contains(err.Error(), "sensitive") {
			t.Error("of a task with sensitive fields:", err)
		}
		break
	}

	without, _ := newEngine(t, engine.Options{})
	if most := without.MaxLargeResult(); most != 0 {
		t.Error("without a blob store it takes", most)
	}
	_, err = without.SendLargeResult(t.Context(), engine.LeaseRef{}, engine.LargeContent{Bytes: 1 << 20})
	if task.CodeOf(err) != task.TooLarge {
		t.Error("without a blob store:", err)
	}
}

// Unreferenced objects are deleted and others stay, even after failures.
func TestLargeResultsAreSwept(t *testing.T) {
	t.Parallel()
	r := newLargeRig(t, engine.Options{})
	r.task(&task.Template{Name: "one", Version: "1", Steps: []task.StepSpec{{Name: "make", Handler: "make"}}})
	l := r.poll()
	sent, err := r.send(l, longText)
	r.must(err)
	unused, err := r.send(l, longText+" ") // as if the worker had died before it settled
	r.must(err)
	if a := r.settle(l, sent.Key); a.Err != nil {
		t.Fatal(a.Err)
	}
	if got := r.sweep(); len(got) != 2 {
		t.Errorf("at once: %v", got)
	}
	r.tick(25 * time.Hour)
	r.shelf.down = errors.New("no disk")
	if _, more, err := r.e.SweepLargeResults(t.Context()); err == nil || more {
		t.Error("while the store does not work:", more, err)
	}
	r.shelf.down = nil
	if got := r.sweep(); len(got) != 1 || got[0] != sent.Key {
		t.Errorf("a day later: %v, not only %s; %s is unused", got, sent.Key, unused.Key)
	}
	r.tick(8 * 24 * time.Hour) // retention
	if _, err := r.e.Retain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.sweep(); len(got) != 0 {
		t.Errorf("after the task was deleted: %v", got)
	}
}

// An object stays exactly as long as its lease may be in force.
func TestLargeResultsOfLongLeases(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]engine.Dispatcher{"Native": nil, "Dispatcher": memory.NewServer().Open()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := engine.Options{Dispatcher: d}
			opts.Config.Leases = settings.Leases{HeartbeatInterval: 24 * time.Hour, MissedHeartbeats: 3}
			r := newLargeRig(t, opts)
			tpl := two("two")
			tpl.Steps[0].Timeout = 72 * time.Hour
			r.task(tpl)
			l := r.poll()
			sent, err := r.send(l, longText)
			r.must(err)
			r.tick(48 * time.Hour)
			if got := r.sweep(); len(got) != 1 {
				t.Fatal("deleted under its lease")
			}
			if a := r.settle(l, sent.Key); a.Err != nil {
				t.Fatal("settled:", a.Err)
			}
			second := r.poll()
			_, err = r.send(second, longText)
			r.must(err)
			end := func(l engine.Lease, status engine.ResultStatus) {
				ref := r.ref(&l)
				_, err := r.e.Settle(t.Context(), []engine.Result{{Step: ref.Step, Token: ref.Token, Worker: ref.Worker,
					At: ref.At, Status: status}})
				r.must(err)
			}
			end(second, engine.ResultReleased)
			end(r.poll(), engine.ResultCompleted)
			r.tick(25 * time.Hour)
			if got := r.sweep(); len(got) != 1 || got[0] != sent.Key {
				t.Errorf("after the lease: %v", got)
			}
		})
	}
}

// The worker may try again, keeps its lease, and loses nothing.
func TestLargeResultStoreIsDown(t *testing.T) {
	t.Parallel()
	r := newLargeRig(t, engine.Options{})
	id := r.task(two("two"))
	l := r.poll()
	r.shelf.down = errors.New("connection refused")
	_, err := r.send(l, longText)
	var why *task.Error
	if !errors.As(err, &why) || why.Code != task.Unavailable || why.RetryAfter <= 0 ||
		!strings.Contains(err.Error(), "blob store does not work") {
		t.Fatal("while it is down:", err)
	}
	r.shelf.down = nil
	sent, err := r.send(l, longText)
	r.must(err)
	if a := r.settle(l, sent.Key); a.Err != nil {
		t.Fatal(a.Err)
	}
	r.shelf.down = errors.New("connection refused")
	if _, _, err := r.e.LargeResult(t.Context(), id, l.Step.ID); task.CodeOf(err) != task.Unavailable {
		t.Error("read while it is down:", err)
	}
	r.shelf.down = nil
	clear(r.shelf.objects)
	if _, _, err := r.e.LargeResult(t.Context(), id, l.Step.ID); task.CodeOf(err) != task.NotFound ||
		!strings.Contains(err.Error(), "missing in the blob store") {
		t.Error("an object that is gone:", err)
	}
}

// A condition may read the state of a step with a large result; reading the result fails.
func TestLargeResultsInExpressions(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]task.StepState{
		`parents.make.state == "complete"`: task.StepInProgress,
		`parents.make.result == "a"`:       task.StepErrored,
	} {
		r := newLargeRig(t, engine.Options{})
		tpl := two("two")
		tpl.Steps[1].When = expression
		id := r.task(tpl)
		l := r.poll()
		sent, err := r.send(l, longText)
		r.must(err)
		if a := r.settle(l, sent.Key); a.Err != nil {
			t.Fatal(a.Err)
		}
		if want == task.StepInProgress {
			r.poll()
		}
		_, steps, err := r.e.Steps(t.Context(), id)
		r.must(err)
		if steps[1].State != want {
			t.Errorf("%s: %s, want %s", expression, steps[1].State, want)
		}
		records, err := r.e.Records(t.Context(), id)
		r.must(err)
		var said bytes.Buffer
		for _, a := range records.Attempts {
			if a.Failure != nil {
				said.WriteString(a.Failure.Message)
			}
		}
		if (want == task.StepErrored) != strings.Contains(said.String(), "is kept in the blob store") {
			t.Errorf("%s: said %q", expression, said.String())
		}
	}
}

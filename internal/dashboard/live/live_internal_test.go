package live

import (
	"context"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

// quiet is a stream without events.
type quiet struct{ begun, ended chan struct{} }

func newQuiet() *quiet { return &quiet{make(chan struct{}, 10), make(chan struct{}, 10)} }

func (q *quiet) stream(ctx context.Context, _ tasker.EventFilter) iter.Seq2[[]tasker.Event, error] {
	return func(func([]tasker.Event, error) bool) {
		q.begun <- struct{}{}
		<-ctx.Done()
		q.ended <- struct{}{}
	}
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing for a minute")
	}
	return v
}

func video(t *testing.T) *access.Principal {
	t.Helper()
	secret, hash := access.Generate()
	ring, err := access.New([]access.Key{{Name: "v", SHA256: hash, Permissions: []string{"read"},
		Namespaces: []string{"video"}}})
	if err != nil {
		t.Fatal(err)
	}
	return ring.Authenticate(secret)
}

// TestReports: a viewer receives each topic once, for any number of events, and of its namespaces only.
func TestReports(t *testing.T) {
	t.Parallel()
	q := newQuiet()
	h := New(q.stream, slog.New(slog.DiscardHandler), 10)
	all, leaveAll, err := h.Watch(nil)
	if err != nil {
		t.Fatal(err)
	}
	limited, leaveLimited, err := h.Watch(video(t))
	if err != nil {
		t.Fatal(err)
	}
	await(t, q.begun)
	events := make([]tasker.Event, 10_000)
	for i := range events {
		events[i] = tasker.Event{Type: tasker.EventTaskState, Namespace: "audio"}
	}
	h.note(events)
	h.note([]tasker.Event{{Type: tasker.EventRedriveState, Namespace: "video"}})
	h.tell(false)
	h.note([]tasker.Event{{Type: tasker.EventCaseOpened, Namespace: "audio"}})
	h.tell(false) // a slow viewer gets both reports as one
	if got := await(t, all); len(got) != 4 || !got[Tasks] || !got[Redrives] || !got[Inbox] || !got[Cases] {
		t.Errorf("the viewer of everything heard %v", got)
	}
	if got := await(t, limited); len(got) != 2 || !got[Redrives] || !got[Inbox] {
		t.Errorf("the viewer of video heard %v", got)
	}
	h.tell(true)
	if got := await(t, limited); !got[Clock] {
		t.Errorf("the viewer of video heard %v and no clock", got)
	}
	leaveAll()
	select {
	case <-q.ended:
		t.Error("nobody listens, though a viewer is left")
	default:
	}
	leaveLimited()
	await(t, q.ended)
	h.Wait()

	_, leave, err := h.Watch(nil) // the next viewer
	if err != nil {
		t.Fatal(err)
	}
	await(t, q.begun)
	leave()
	h.Wait()
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	q := newQuiet()
	h := New(q.stream, slog.New(slog.DiscardHandler), 2)
	for range 2 {
		_, leave, err := h.Watch(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	if _, _, err := h.Watch(nil); tasker.ErrorCode(err) != tasker.CodeExhausted {
		t.Errorf("the third viewer: %v", err)
	}
}

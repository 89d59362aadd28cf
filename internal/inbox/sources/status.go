package sources

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SourceStatus is a source with its state.
type SourceStatus struct {
	Source *deadletter.Source
	State  string // reading, paused, waiting (for a turn, or for room), or lost
	Error  string // the last one; "" for none
	Since  task.Instant
	// Open counts open letters, up to 10,000, or up to max_open if that is more, and at most 100,000. OpenCapped: there
	// are more.
	Open       int
	OpenCapped bool
	Waiting    int64 // on the broker, -1 if unknown; only Inbox.Source sets it
	Oversized  Oversized
	Preview    []IntakePreview      // what the first messages would become; only TestSource sets it, with an intake
	Policies   []*deadletter.Policy // that for all other origins last; only Inbox.Source sets it
}

// Oversized sums up messages left on the broker because they are too large.
type Oversized struct {
	Messages int
	First    string // position of the oldest; a hash where the broker has no positions
	Largest  int    // bytes
	Since    task.Instant
}

// IntakePreview is what a message would become: a task, or a letter with a reason.
type IntakePreview struct {
	Task    *intake.Task
	Refusal *intake.Refusal
}

// MaxOversized bounds the recorded large messages of a source.
const MaxOversized = 1000

// TooManyLarge says why a source with too many large messages is not read.
func TooManyLarge(limit int) string {
	return fmt.Sprintf("%d messages stay on the broker because they have more than %d bytes "+
		"(engine.limits.letter_bytes): no more are left there", MaxOversized, limit)
}

// shownOpen bounds the count of a source's open letters in a list, even with millions. Sources with a bound above it
// are counted up to roomOpen, so that a full one shows.
const shownOpen, roomOpen = 10_000, 100_000

// Sources returns the sources of a namespace, or of all that the request reaches (""), with their states.
func (in *Registry) Sources(ctx context.Context, namespace string) ([]*SourceStatus, error) {
	namespace, err := desk.Narrow(ctx, namespace)
	if err != nil {
		return nil, err
	}
	sources, err := in.store.Sources(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var out []*SourceStatus
	for _, s := range sources {
		st, err := in.Status(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

// Source returns a source with its state and policies.
func (in *Registry) Source(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	s, err := in.SourceOf(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	st, err := in.Status(ctx, s)
	if err != nil {
		return nil, err
	}
	all, err := in.PoliciesOf(ctx, namespace)
	if err != nil {
		return nil, err
	}
	st.Policies, st.Waiting = all.ofSource(s), in.depth(ctx, st)
	return st, nil
}

// depth asks a broker how many messages wait; -1 without an answer within 2 s, or if the source is lost.
func (in *Registry) depth(ctx context.Context, of *SourceStatus) int64 {
	carrier := in.opts.Carriers.Of(of.Source)
	if carrier == nil || of.State == "lost" {
		return -1
	}
	ctx, cancel := context.WithTimeout(ctx, seam.LevelTime)
	defer cancel()
	n, err := carrier.Depth(ctx, of.Source)
	if err != nil {
		return -1
	}
	return n
}

// Status returns the state of a source from its row and its number of open letters. Only the node that reads it, and
// TestSource, see whether its broker answers.
func (in *Registry) Status(ctx context.Context, s *deadletter.Source) (*SourceStatus, error) {
	st := &SourceStatus{Source: s, State: "reading", Waiting: -1}
	var err error
	bound := max(shownOpen, min(s.MaxOpen, roomOpen))
	if st.Open, err = in.store.OpenLetters(ctx, s.Namespace, s.Name, bound+1); err != nil {
		return st, err
	}
	st.Open, st.OpenCapped = desk.AtMost(st.Open, bound)
	if st.Oversized, err = in.Oversized(ctx, s); err != nil {
		return st, err
	}
	switch {
	case s.Driver == deadletter.DriverHTTP:
		st.State = "reported"
	case s.Paused:
		st.State = "paused"
	case s.LostAt != 0:
		st.State, st.Error, st.Since = "lost", s.LostFor, s.LostAt
	case s.MaxOpen > 0 && st.Open >= s.MaxOpen:
		st.State, st.Error = "waiting", fmt.Sprintf("it has %d open letters, as many as it may have", st.Open)
	case st.Oversized.Messages >= MaxOversized:
		st.State, st.Error = "waiting", TooManyLarge(in.LetterBytes)
	}
	return st, nil
}

// Oversized sums up the large messages of a source.
func (in *Registry) Oversized(ctx context.Context, s *deadletter.Source) (sum Oversized, err error) {
	if s.Driver == deadletter.DriverHTTP {
		return sum, nil
	}
	list, err := in.store.Oversized(ctx, s.Namespace, s.Name)
	for i, o := range list {
		if i == 0 {
			sum.First, sum.Since = o.Position, o.FirstAt
		}
		sum.Messages++
		sum.Largest = max(sum.Largest, o.Bytes)
	}
	return sum, err
}

// wakeReaders makes Read look now. It never blocks.
func (in *Registry) wakeReaders() {
	select {
	case in.Changed <- struct{}{}:
	default:
	}
}

package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func bounded(o *node.Options) { o.Engine.Limits.LetterBytes = 1000 }

// large keeps account of the large messages of a source, as a node does that reads it.
type large struct{ *capture.Reading }

func (l large) Record(ctx context.Context, list ...deadletter.Oversized) error {
	return l.Reading.Record(ctx, list)
}

// orders returns the source "orders" and its large messages.
func (r *rig) orders(log *bytes.Buffer) (*deadletter.Source, large) {
	r.t.Helper()
	st, err := r.Source(r.t.Context(), "default", "orders")
	if err != nil {
		r.t.Fatal(err)
	}
	return st.Source, large{capture.NewReading(r.Capturer, st.Source, slog.New(slog.NewTextHandler(log, nil)))}
}

func left(position string, size int) deadletter.Oversized {
	return deadletter.Oversized{Position: position, Bytes: size, Offset: -1}
}

// messages, the largest, the first
func (r *rig) stays() string {
	r.t.Helper()
	st, err := r.Source(r.t.Context(), "default", "orders")
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprint(st.State, " ", st.Oversized.Messages, " ", st.Oversized.Largest, " ", st.Oversized.First)
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// A large message is recorded and logged once, and forgotten an hour after its last delivery, or with its source or
// queue.
func TestLargeMessagesAreRecorded(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var log bytes.Buffer
		source, l := r.orders(&log)
		r.must(l.Record(t.Context(), left("q@1", 5000), left("q@1", 5000)))
		r.later(time.Minute)
		r.must(l.Record(t.Context(), left("q@2", 7000), left("q@1", 5000)))
		r.want("recorded", r.stays(), "reading 2 7000 q@1")
		r.want("lines of the log", strings.Count(log.String(), "stays on its broker"), 2)
		r.later(50 * time.Minute)
		r.must(l.Record(t.Context(), left("q@2", 7000)))
		r.later(20 * time.Minute)
		r.must(l.Again(t.Context()))
		r.want("one is not there any more", r.stays(), "reading 1 7000 q@2")
		r.later(2 * time.Hour)
		_, fresh := r.orders(&log)
		r.must(fresh.Again(t.Context()))
		r.want("after a pause nothing is known", r.stays(), "reading 1 7000 q@2")
		source.Queue = "other"
		r.source(*source)
		r.want("of another queue", r.stays(), "reading 0 0 ")
	}, bounded)
}

// A message that cannot be recorded is not skipped.
func TestTooManyLargeMessages(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var log bytes.Buffer
		_, l := r.orders(&log)
		many := make([]deadletter.Oversized, sources.MaxOversized)
		for i := range many {
			many[i] = left(fmt.Sprintf("q@%04d", i), 2000)
		}
		r.must(l.Record(t.Context(), many...))
		r.want("it waits", r.stays(), "waiting 1000 2000 q@0000")
		r.must(l.Record(t.Context(), many[7]))
		r.refused(l.Record(t.Context(), left("q@more", 2000)), task.Exhausted)
	}, bounded)
}

// A source is paused before its broker drops a message after too many deliveries.
func TestDeliveredTooOften(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var log bytes.Buffer
		_, l := r.orders(&log)
		o := left("q@1", 2000)
		o.Deliveries = 9
		r.must(l.Record(t.Context(), o))
		r.want("before", r.stays(), "reading 1 2000 q@1")
		o.Deliveries = 10
		r.must(l.Record(t.Context(), o))
		r.want("after", r.stays(), "paused 1 2000 q@1")
		if a, _ := r.lastAct("pause_source"); a.Actor != "system" || !strings.Contains(a.Reason, "delivered 10 times") {
			t.Errorf("the act is of %q, because %q", a.Actor, a.Reason)
		}
	}, bounded)
}

// A message that fits now is captured from its log once; a missing one counts as lost.
func TestLargeMessagesOfLogs(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var log bytes.Buffer
		r.broker.keeps(2, 10, nil)
		_, l := r.orders(&log)
		at := func(offset int64, size int) deadletter.Oversized {
			return deadletter.Oversized{Position: fmt.Sprint("log/", offset), Bytes: size, Offset: offset}
		}
		r.must(l.Record(t.Context(), at(1, 900), at(2, 900), at(3, 5000)))
		r.must(l.Again(t.Context()))
		r.want("one is gone, one is a letter, one stays", r.stays(), "reading 1 5000 log/3")
		r.must(l.Record(t.Context(), at(2, 900)))
		r.must(l.Again(t.Context()))
		page, err := r.Letters(t.Context(), inbox.LetterFilter{Limit: 10})
		r.must(err)
		r.want("letters", len(page.Letters), 1)
		r.want("lost", strings.Count(log.String(), "LOST"), 1)
		r.broker.keeps(4, 10, nil)
		r.must(l.Again(t.Context()))
		r.want("retention has deleted the large one", fmt.Sprint(r.stays(), strings.Count(log.String(), "LOST")),
			"reading 0 0 2")
	}, bounded)
}

// A report with a too large letter is refused with its place; nothing of the call is stored.
func TestReportsAreWholeOrRefused(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		report := func(payload, rest int) inbox.Report {
			a := dead(payload, "Timeout").Report
			a.Content = deadletter.Content{Payload: bytes.Repeat([]byte("p"), payload), Key: bytes.Repeat([]byte("k"), rest),
				Headers: []deadletter.Header{{Name: "h", Value: bytes.Repeat([]byte("v"), rest-1)}}}
			return a
		}
		for name, large := range map[string]inbox.Report{"payload": report(999, 1), "headers and key": report(1, 500)} {
			_, err := r.Report(t.Context(), "default", "web", []inbox.Report{report(10, 1), large})
			r.refused(err, task.TooLarge)
			var of *task.Error
			if errors.As(err, &of); of == nil {
				continue
			}
			if p := of.Problems; len(p) != 1 || p[0].Location != "/reports/1" ||
				p[0].Message != "has 1001 bytes; a letter may have 1000 (engine.limits.letter_bytes)" {
				t.Errorf("%s: %+v", name, p)
			}
		}
		page, err := r.Letters(t.Context(), inbox.LetterFilter{Limit: 10})
		r.must(err)
		r.want("letters", len(page.Letters), 0)
		got, err := r.Report(t.Context(), "default", "web", []inbox.Report{report(98, 451)})
		r.must(err)
		l := r.letter(got[0].Letter)
		r.want("whole", fmt.Sprint(l.Original.Size(), l.Size, l.Cut, len(l.Original.Key)), "1000 98 false 451")
		_, err = r.EditLetter(t.Context(), l.ID, letters.LetterEdit{Edit: deadletter.Edit{Key: make([]byte, 452)}})
		r.refused(err, task.TooLarge)
	}, bounded)
}

func TestWholeLettersAPartAtATime(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var ids []task.ID
		for i, size := range []int{10, 10, 5000, 10, 2000, 3000, 10} {
			a := dead(i, "Timeout")
			a.Content = deadletter.Content{Payload: bytes.Repeat([]byte("p"), size)}
			ids = append(ids, r.die(a)[0].Letter)
		}
		parts, err := r.ByBytes(t.Context(), ids, 3, 4000)
		r.must(err)
		var sizes []int
		for _, p := range parts {
			sizes = append(sizes, len(p))
		}
		r.want("parts", fmt.Sprint(sizes), "[3 3 1]")
		none, err := r.ByBytes(t.Context(), nil, 3, 4000)
		r.must(err)
		r.want("of none", len(none), 0)
	})
}

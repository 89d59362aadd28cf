package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

// often bounds the events without a commit, in case one ends the process.
const often = 1000

// past is the group's state of a partition, and how its former member left it.
type past struct {
	offset int64 // -1: nothing
	note
}

// progress is the progress of a consumer's partitions. It is stored with the group: an offset, and the failures of the
// event there. No other place would survive a restart and follow the partition to another member.
type progress struct {
	client *kgo.Client
	group  string
	due    chan struct{} // a commit should not wait for its time

	committing sync.Mutex
	mu         sync.Mutex
	places     map[place]*mark
}

type mark struct {
	offset kgo.EpochOffset
	note
	version int // changes with the mark
	stored  int // version that the group has
	ahead   int // events since the last commit
}

func newProgress(client *kgo.Client, group string) *progress {
	return &progress{client: client, group: group, due: make(chan struct{}, 1), places: map[place]*mark{}}
}

// done notes a finished event. The next among attempts may begin without another note.
func (g *progress) done(at place, r *kgo.Record, among int) {
	g.set(at, kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}, note{among: among})
}

// begins commits that attempts begin, of an event or of it and others behind it. The offset is that of the event.
func (g *progress) begins(at place, r *kgo.Record, n note) error {
	g.set(at, kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset}, n)
	for ends := time.Now().Add(commitTimeout); ; {
		err := g.commit(nil) // waiting partitions share a commit
		// During a rebalance the broker refuses commits for a moment.
		if !errors.Is(err, kerr.RebalanceInProgress) || time.Now().After(ends) {
			return err
		}
		_ = clock.Sleep(context.Background(), 20*time.Millisecond) // it cannot fail
	}
}

// failed commits how often an event has failed. The offset is that of the event: it is delivered again.
func (g *progress) failed(at place, r *kgo.Record, failures int) error {
	g.set(at, kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset}, note{failures: failures})
	return g.commit([]place{at})
}

// stop notes a regular end of partitions, without attempts under way.
func (g *progress) stop(list []place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range list {
		if m := g.places[at]; m != nil {
			m.started, m.among, m.stopped = false, 0, true
			m.version++
		}
	}
}

func (g *progress) set(at place, offset kgo.EpochOffset, n note) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.places[at]
	if m == nil {
		m = &mark{}
		g.places[at] = m
	}
	m.offset, m.note = offset, n
	m.version++
	if m.ahead++; m.ahead == often {
		select {
		case g.due <- struct{}{}:
		default:
		}
	}
}

func (g *progress) forget(list []place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range list {
		delete(g.places, at)
	}
}

func (g *progress) commit(only []place) error {
	g.committing.Lock()
	defer g.committing.Unlock()
	marks := g.changed(only)
	if len(marks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for at, m := range marks {
		if offsets[at.topic] == nil {
			offsets[at.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[at.topic][at.n] = m.offset
	}
	var failure error
	g.client.CommitOffsetsSync(withMetadata(ctx, marks), offsets,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			failure = errors.Join(err, g.stored(marks, answer))
		})
	return failure
}

func (g *progress) changed(only []place) map[place]mark {
	g.mu.Lock()
	defer g.mu.Unlock()
	if only == nil {
		only = slices.Collect(maps.Keys(g.places))
	}
	out := map[place]mark{}
	for _, at := range only {
		if m := g.places[at]; m != nil && m.version != m.stored {
			out[at] = *m
			m.ahead = 0
		}
	}
	return out
}

func withMetadata(ctx context.Context, marks map[place]mark) context.Context {
	return kgo.PreCommitFnContext(ctx, func(request *kmsg.OffsetCommitRequest) error {
		for i := range request.Topics {
			t := &request.Topics[i]
			for j := range t.Partitions {
				p := &t.Partitions[j]
				text := marks[place{t.Topic, p.Partition}].String()
				p.Metadata = &text
			}
		}
		return nil
	})
}

// stored notes what a commit has stored, and returns an error for the rest.
func (g *progress) stored(marks map[place]mark, answer *kmsg.OffsetCommitResponse) error {
	if answer == nil {
		return nil // the error of the commit says why
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var failure error
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			at := place{t.Topic, p.Partition}
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				failure = fmt.Errorf("topic %s, partition %d: %w", t.Topic, p.Partition, err)
			} else if m := g.places[at]; m != nil {
				m.stored = marks[at].version
			}
		}
	}
	return failure
}

func (g *progress) pasts(ctx context.Context, list []place) (map[place]past, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	topics := make([]string, 0, len(list))
	for _, at := range list {
		topics = append(topics, at.topic)
	}
	stored, err := kadm.NewClient(g.client).FetchOffsetsForTopics(ctx, g.group, topics...)
	if err != nil {
		return nil, fmt.Errorf("read the offsets of group %s: %w", g.group, err)
	}
	out := map[place]past{}
	for _, at := range list {
		out[at] = unread
		if o, ok := stored.Lookup(at.topic, at.n); ok && o.Err == nil && o.At >= 0 {
			out[at] = past{offset: o.At, note: parseNote(o.Metadata)}
		}
	}
	return out, nil
}

// note is stored with a committed offset. Without one the partition is in use, or its process crashed.
type note struct {
	failures int  // of the event there, without an attempt that has started
	started  bool // an attempt of the event has begun
	among    int  // attempts of so many events, from the one there on, may have begun
	stopped  bool // the member has stopped regularly
}

// unread is the past of a partition without a commit: no member has left it.
var unread = past{offset: -1, note: note{stopped: true}}

// The text of a note: the mark, then words.
const (
	noteMark     = "tasker"
	noteFailures = "failures="
	noteStarted  = "started"
	noteAmong    = "among="
	noteStopped  = "stopped"
)

// String returns the stored text; "" for nothing.
func (n note) String() string {
	text := ""
	if n.failures > 0 {
		text += " " + noteFailures + strconv.Itoa(n.failures)
	}
	if n.started {
		text += " " + noteStarted
	}
	if n.among > 0 {
		text += " " + noteAmong + strconv.Itoa(n.among)
	}
	if n.stopped {
		text += " " + noteStopped
	}
	if text == "" {
		return ""
	}
	return noteMark + text
}

// parseNote ignores foreign texts.
func parseNote(text string) (n note) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != noteMark {
		return n
	}
	for _, word := range words[1:] {
		switch name, value, _ := strings.Cut(word, "="); {
		case name+"=" == noteFailures:
			n.failures = positive(value)
		case name+"=" == noteAmong:
			n.among = positive(value)
		case word == noteStarted:
			n.started = true
		case word == noteStopped:
			n.stopped = true
		}
	}
	return n
}

func positive(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

package compat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// origins and types in a summary, and counted letters for each in each state
	maxTopics, countedTopic = 500, 1_000_000
	sampledTopic            = 1000
	maxNamed                = 10
)

// TopicCount counts the letters of an origin, or of a type of events.
type TopicCount struct {
	Name    string
	ByState map[model.LetterState]int // up to a million for each
	Sample  TopicSample               // the newest 1,000 of each state
}

// Letters adds up the states.
func (c *TopicCount) Letters() int {
	n := 0
	for _, count := range c.ByState {
		n += count
	}
	return n
}

// Topics counts the letters of a namespace by origin, for the first 500 by name.
func (in *Views) Topics(ctx context.Context, namespace string) ([]TopicCount, error) {
	if err := desk.Reach(ctx, namespace); err != nil {
		return nil, err
	}
	return in.origins(ctx, namespace, false)
}

func (in *Views) origins(ctx context.Context, namespace string, top bool) ([]TopicCount, error) {
	names, err := in.store.Topics(ctx, namespace, maxTopics)
	if err != nil {
		return nil, err
	}
	of := func(name string) TopicFilter { return TopicFilter{Namespace: namespace, Origin: &name} }
	counts, err := in.countTopics(ctx, names, top, of)
	for i := range counts {
		if counts[i].Sample, err = in.store.SampleTopic(ctx, of(counts[i].Name), sampledTopic); err != nil {
			return nil, err
		}
	}
	return counts, err
}

func (in *Views) countTopics(ctx context.Context, names []string, top bool, of func(name string) TopicFilter) (
	[]TopicCount, error,
) {
	counts := make([]TopicCount, len(names))
	for i, name := range names {
		by, err := in.store.CountTopic(ctx, of(name), countedTopic)
		if err != nil {
			return nil, err
		}
		counts[i] = TopicCount{Name: name, ByState: by}
	}
	if top {
		slices.SortStableFunc(counts, func(a, b TopicCount) int { return b.Letters() - a.Letters() })
		counts = counts[:min(len(counts), topTopics)]
	}
	return counts, nil
}

// TopicStats is a summary of the letters of a namespace.
type TopicStats struct {
	ByState       map[model.LetterState]int
	Topics, Types []TopicCount // the ten with the most letters; types without samples
	Waiting       TopicSample
	At            task.Instant
}

const topTopics = 10

// TopicStats summarises the letters of a namespace. It reads a bounded number of letters for each origin.
func (in *Views) TopicStats(ctx context.Context, namespace string) (*TopicStats, error) {
	if err := desk.Reach(ctx, namespace); err != nil {
		return nil, err
	}
	s := &TopicStats{At: in.Now()}
	all := TopicFilter{Namespace: namespace}
	var err error
	if s.ByState, err = in.store.CountTopic(ctx, all, countedTopic); err != nil {
		return nil, err
	}
	all.States = inQueue
	if s.Waiting, err = in.store.SampleTopic(ctx, all, sampledTopic); err != nil {
		return nil, err
	}
	if s.Topics, err = in.origins(ctx, namespace, true); err != nil {
		return nil, err
	}
	types, err := in.store.EventTypes(ctx, namespace, maxTopics)
	if err != nil {
		return nil, err
	}
	s.Types, err = in.countTopics(ctx, types, true, func(name string) TopicFilter {
		return TopicFilter{Namespace: namespace, EventType: name}
	})
	return s, err
}

// TopicLetters returns a page of letters as Letters does, and the total, up to a million in each state. Letters that
// arrive between two pages move the places of others.
func (in *Views) TopicLetters(ctx context.Context, f TopicFilter, skip, limit int) ([]*deadletter.Letter, int, error) {
	if err := in.Limit(limit); err != nil {
		return nil, 0, err
	}
	if err := desk.Reach(ctx, f.Namespace); err != nil {
		return nil, 0, err
	}
	if f.Origin != nil && task.TextFault(*f.Origin, desk.MaxName) != "" ||
		task.TextFault(f.EventType, desk.MaxName) != "" {
		return nil, 0, nil
	}
	by, err := in.store.CountTopic(ctx, f, countedTopic)
	if err != nil {
		return nil, 0, err
	}
	all := TopicCount{ByState: by}
	total := all.Letters()
	if skip >= total {
		return nil, total, nil
	}
	letters, err := in.store.TopicLetters(ctx, f, skip, limit)
	return letters, total, err
}

// FindMessage returns the letter of a message by its UUID, or by the sender's ID if only one letter of the source, or
// of all (""), has it. NotFound: there is none, or the key does not reach it. Conflict: there are several.
func (in *Views) FindMessage(ctx context.Context, namespace, source, id string) (*deadletter.Letter, error) {
	missing := task.Errorf(task.NotFound, "there is no message %s", outbox.Quoted(id))
	if !desk.Nameable(ctx, namespace, source) || task.TextFault(id, desk.MaxName) != "" || id == "" {
		return nil, missing
	}
	ids, err := in.store.LettersNamed(ctx, namespace, id, maxNamed)
	if err != nil {
		return nil, err
	}
	if uuid, bad := task.ParseID(id); bad == nil && !slices.Contains(ids, uuid) {
		ids = append(ids, uuid)
	}
	found, err := in.store.WholeLetters(ctx, ids)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(l *deadletter.Letter) bool {
		return l.Namespace != namespace || source != "" && l.Source != source
	})
	switch len(found) {
	case 0:
		return nil, missing
	case 1:
		return found[0], nil
	}
	var list []string
	for _, l := range found {
		list = append(list, fmt.Sprintf("%s (source %s)", l.ID, outbox.Quoted(l.Source)))
	}
	return nil, desk.Hinted(task.Conflict, "name one by its UUID, or by the parameter source if that tells them apart",
		"%d letters have the ID %s: %s", len(found), outbox.Quoted(id), strings.Join(list, ", "))
}

// TopicFilter selects letters of a namespace. Zero fields do not restrict.
type TopicFilter struct {
	Namespace string
	Origin    *string
	EventType string
	States    []model.LetterState // empty: all
}

// TopicSample are sums over letters.
type TopicSample struct {
	N                  int
	Replays, MaxReplay int64
	FirstAt, LastAt    task.Instant // first death of any, and last death of any; the oldest letter counts too
	FirstSum           int64        // of FirstAt, in seconds
	NewestFirstAt      task.Instant
}

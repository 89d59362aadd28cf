package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

const (
	// maxTopics bounds the origins and types of events of a summary, and countedTopic the letters that it counts for each
	// in each state.
	maxTopics, countedTopic = 500, 1_000_000
	// sampledTopic bounds the letters of a state from which means are taken.
	sampledTopic = 1000
	// maxNamed bounds the letters of one message ID that an error lists.
	maxNamed = 10
)

// TopicCount counts the letters of an origin, or of a type of events.
type TopicCount struct {
	Name string
	// ByState counts up to a million letters for each state.
	ByState map[model.LetterState]int
	// Sample is of up to 1,000 letters of each state, the newest.
	Sample TopicSample
}

// Letters is the number of letters.
func (c *TopicCount) Letters() int {
	n := 0
	for _, count := range c.ByState {
		n += count
	}
	return n
}

// Topics counts the letters of a namespace by their origins, of which it takes the first 500 by name.
func (in *Inbox) Topics(ctx context.Context, namespace string) ([]TopicCount, error) {
	if err := reach(ctx, namespace); err != nil {
		return nil, err
	}
	names, err := in.store.Topics(ctx, namespace, maxTopics)
	if err != nil {
		return nil, err
	}
	counts, err := in.countTopics(ctx, names, func(name string) TopicFilter {
		return TopicFilter{Namespace: namespace, Origin: &name}
	})
	if err != nil {
		return nil, err
	}
	return counts, in.sampleTopics(ctx, namespace, counts)
}

func (in *Inbox) sampleTopics(ctx context.Context, namespace string, counts []TopicCount) (err error) {
	for i := range counts {
		c := &counts[i]
		c.Sample, err = in.store.SampleTopic(ctx, TopicFilter{Namespace: namespace, Origin: &c.Name}, sampledTopic)
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *Inbox) countTopics(ctx context.Context, names []string, filter func(string) TopicFilter) ([]TopicCount,
	error,
) {
	out := make([]TopicCount, len(names))
	for i, name := range names {
		by, err := in.store.CountTopic(ctx, filter(name), countedTopic)
		if err != nil {
			return nil, err
		}
		out[i] = TopicCount{Name: name, ByState: by}
	}
	return out, nil
}

// TopicStats is a summary of the letters of a namespace.
type TopicStats struct {
	ByState       map[model.LetterState]int
	Topics, Types []TopicCount // the ten with the most letters; types without samples
	Waiting       TopicSample  // of open and scheduled letters
	At            task.Instant
}

// topTopics is the number of origins and types in TopicStats.
const topTopics = 10

// TopicStats summarises the letters of a namespace. It looks at a bounded number of letters for each origin.
func (in *Inbox) TopicStats(ctx context.Context, namespace string) (*TopicStats, error) {
	if err := reach(ctx, namespace); err != nil {
		return nil, err
	}
	s := &TopicStats{At: in.now()}
	all := TopicFilter{Namespace: namespace}
	var err error
	if s.ByState, err = in.store.CountTopic(ctx, all, countedTopic); err != nil {
		return nil, err
	}
	all.States = inQueue
	if s.Waiting, err = in.store.SampleTopic(ctx, all, sampledTopic); err != nil {
		return nil, err
	}
	names, err := in.store.Topics(ctx, namespace, maxTopics)
	if err != nil {
		return nil, err
	}
	if s.Topics, err = in.top(ctx, names, func(name string) TopicFilter {
		return TopicFilter{Namespace: namespace, Origin: &name}
	}); err != nil {
		return nil, err
	}
	if err := in.sampleTopics(ctx, namespace, s.Topics); err != nil {
		return nil, err
	}
	if names, err = in.store.EventTypes(ctx, namespace, maxTopics); err != nil {
		return nil, err
	}
	s.Types, err = in.top(ctx, names, func(name string) TopicFilter {
		return TopicFilter{Namespace: namespace, EventType: name}
	})
	return s, err
}

func (in *Inbox) top(ctx context.Context, names []string, filter func(string) TopicFilter) ([]TopicCount, error) {
	counts, err := in.countTopics(ctx, names, filter)
	slices.SortStableFunc(counts, func(a, b TopicCount) int { return b.Letters() - a.Letters() })
	return counts[:min(len(counts), topTopics)], err
}

// TopicLetters returns a page of the letters of a namespace, the newest first, as Letters does, and the number of all,
// up to a million in each state. Letters that arrive between two pages move the places of others.
func (in *Inbox) TopicLetters(ctx context.Context, f TopicFilter, skip, limit int) ([]*deadletter.Letter, int, error) {
	if err := in.limit(limit); err != nil {
		return nil, 0, err
	}
	if err := reach(ctx, f.Namespace); err != nil {
		return nil, 0, err
	}
	if f.Origin != nil && task.TextFault(*f.Origin, maxName) != "" || task.TextFault(f.EventType, maxName) != "" {
		return nil, 0, nil // no letter has such a name
	}
	by, err := in.store.CountTopic(ctx, f, countedTopic)
	if err != nil {
		return nil, 0, err
	}
	total := 0
	for _, n := range by {
		total += n
	}
	if skip >= total {
		return nil, total, nil
	}
	letters, err := in.store.TopicLetters(ctx, f, skip, limit)
	return letters, total, err
}

// FindMessage returns the letter of a message: the one of that UUID, or the only one with the ID that the sender gave
// it, of one source or of all (""). NotFound: there is none, or the key does not reach it. Conflict: there are several.
func (in *Inbox) FindMessage(ctx context.Context, namespace, source, id string) (*deadletter.Letter, error) {
	missing := task.Errorf(task.NotFound, "there is no message %s", quoted(id))
	if !nameable(ctx, namespace, source) || task.TextFault(id, maxName) != "" || id == "" {
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
		list = append(list, fmt.Sprintf("%s (source %s)", l.ID, quoted(l.Source)))
	}
	return nil, &task.Error{Code: task.Conflict,
		Message: fmt.Sprintf("%d letters have the ID %s: %s", len(found), quoted(id), strings.Join(list, ", ")),
		Hint:    "name one by its UUID, or by the parameter source if that tells them apart"}
}

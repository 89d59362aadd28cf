package compat

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// levelSources bounds the sources of Levels: each costs a count in the database and a call of a broker.
	levelSources = 200
	levelLetters = 100_000
	levelsAtOnce = 16 // brokers
)

// Level is the depth of a queue and the state of its broker, for metrics.
type Level struct {
	Queue
	Err       error // why Waiting is unknown: the broker does not answer
	Oversized int   // messages left on the broker because they are too large
	Lag       map[int32]int64
	Breaker   task.BreakerState // of sends to the broker; "" for none
}

// Levels returns the depths of queues of all namespaces, the first 200 by namespace and source. A broker that does not
// answer within 2 s is an error in its Level.
func (in *Views) Levels(ctx context.Context) ([]Level, error) {
	sources, err := in.store.Sources(ctx, "")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(sources, func(a, b *deadletter.Source) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	levels := make([]Level, min(len(sources), levelSources))
	slots := make(chan struct{}, levelsAtOnce)
	var asked sync.WaitGroup
	for i := range levels {
		l := &levels[i]
		l.Queue = queueOf(sources[i])
		asked.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			in.askLevel(ctx, l)
		})
	}
	// The database meanwhile, one count at a time: metrics must not use up its connections.
	for i := range levels {
		s := sources[i]
		if levels[i].Letters, err = in.store.OpenLetters(ctx, s.Namespace, s.Name, levelLetters); err != nil {
			break
		}
		of, failed := in.sources.Oversized(ctx, s)
		if err = failed; err != nil {
			break
		}
		levels[i].Oversized = of.Messages
	}
	asked.Wait()
	return levels, err
}

// OriginLevel counts the undecided letters of an origin, such as a topic.
type OriginLevel struct {
	Namespace, Origin string
	Letters           int // open, scheduled or being sent; up to 100,000 for each state
}

var undecided = []model.LetterState{model.LetterOpen, model.LetterScheduled, model.LetterRedriving}

// OriginLevels counts undecided letters of each origin, for metrics: of namespaces with sources, the first 200 origins
// by namespace and name. An origin stays until its letters are purged.
func (in *Views) OriginLevels(ctx context.Context) ([]OriginLevel, error) {
	sources, err := in.store.Sources(ctx, "")
	if err != nil {
		return nil, err
	}
	namespaces := make([]string, len(sources))
	for i, s := range sources {
		namespaces[i] = s.Namespace
	}
	slices.Sort(namespaces)
	var out []OriginLevel
	for _, namespace := range slices.Compact(namespaces) {
		origins, err := in.store.Topics(ctx, namespace, levelSources-len(out))
		if err != nil {
			return nil, err
		}
		for _, origin := range origins {
			by, err := in.store.CountTopic(ctx, TopicFilter{Namespace: namespace, Origin: &origin, States: undecided},
				levelLetters)
			if err != nil {
				return nil, err
			}
			c := TopicCount{ByState: by}
			out = append(out, OriginLevel{namespace, origin, c.Letters()})
		}
		if len(out) >= levelSources {
			break
		}
	}
	return out, nil
}

func (in *Views) askLevel(ctx context.Context, l *Level) {
	carrier := in.carriers.Of(l.Source)
	if carrier == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, seam.LevelTime)
	defer cancel()
	l.Waiting, l.Err = in.carriers.Waiting(ctx, l.Source)
	if l.Err == nil {
		l.Lag, l.Err = carrier.Lag(ctx, l.Source)
	}
	l.Breaker = carrier.Breaker(l.Source)
}

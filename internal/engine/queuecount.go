package engine

import (
	"context"
	"maps"
)

// QueueCount is how many steps are ready, by priority level.
type QueueCount struct {
	Ready   int
	ByLevel map[int]int // named levels, and others that are there
	// Capped says that there are more than were counted.
	Capped bool
}

// countQueue returns what is in the queue as far as the filter lets it through, if it has
// changed. What counting costs is shared by all who ask.
func (l *Listener) countQueue(ctx context.Context) ([]Notice, error) {
	stats, err := l.e.QueueStats(ctx, l.filter.Namespaces)
	if err != nil {
		return nil, err
	}
	q := &QueueCount{Ready: stats.Depth, Capped: stats.Capped, ByLevel: map[int]int{}}
	for _, level := range stats.Levels {
		q.ByLevel[level.Level] = level.Ready
	}
	if l.last != nil && l.last.Ready == q.Ready && l.last.Capped == q.Capped && maps.Equal(l.last.ByLevel, q.ByLevel) {
		return nil, nil
	}
	l.last = q
	n := l.here(QueueCounted, "")
	n.Queue = q
	return []Notice{n}, nil
}

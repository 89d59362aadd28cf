package engine

import (
	"context"
	"maps"
	"strings"
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
	g, err := l.e.queueSample(ctx)
	if err != nil {
		return nil, err
	}
	q := l.e.countOf(g, l.filter.Namespaces)
	if l.last != nil && l.last.Ready == q.Ready && l.last.Capped == q.Capped && maps.Equal(l.last.ByLevel, q.ByLevel) {
		return nil, nil
	}
	l.last = q
	n := l.here(QueueCounted, "")
	n.Queue = q
	return []Notice{n}, nil
}

// countOf is what a sample shows of some namespaces. It is made once, and shared.
func (e *Engine) countOf(g *queueSample, namespaces []string) *QueueCount {
	key := strings.Join(namespaces, "\n")
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.counted[key]; q != nil {
		return q
	}
	var stats QueueStats
	e.describe(&stats, g, passing(namespaces))
	q := &QueueCount{Ready: stats.Depth, Capped: g.capped, ByLevel: map[int]int{}}
	for _, level := range stats.Levels {
		q.ByLevel[level.Level] = level.Ready
	}
	if g.counted == nil {
		g.counted = map[string]*QueueCount{}
	}
	g.counted[key] = q
	return q
}

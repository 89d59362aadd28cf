package figures

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/engine/kernel"
)

// countStreamed is for streams; all callers share the count.
func (e *Room) countStreamed(ctx context.Context, namespaces []string) (*feed.QueueCount, error) {
	g, err := e.queueSample(ctx)
	if err != nil {
		return nil, err
	}
	return e.countOf(g, namespaces), nil
}

// countOf caches counts by namespaces. Listeners ask every second, mostly for the same ones, while a sample lasts
// longer.
func (e *Room) countOf(g *queueSample, namespaces []string) *feed.QueueCount {
	// A namespace has no line break.
	key := strings.Join(namespaces, "\n")
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.counted[key]; q != nil {
		return q
	}
	var stats QueueStats
	e.describe(&stats, g, kernel.Passing(namespaces))
	q := &feed.QueueCount{Ready: stats.Depth, Capped: g.capped, ByLevel: map[int]int{}}
	for _, level := range stats.Levels {
		q.ByLevel[level.Level] = level.Ready
	}
	if g.counted == nil {
		g.counted = map[string]*feed.QueueCount{}
	}
	g.counted[key] = q
	return q
}

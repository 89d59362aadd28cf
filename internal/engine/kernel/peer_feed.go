package kernel

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	subscriptionTime = 15 * time.Second
	// drainPatience bounds the wait for transactions that must end before this process can publish its changes.
	drainPatience = 50 * time.Millisecond
)

// ListenTo returns a listener that receives everything committed afterwards. The caller must call Close. NotFound: a
// task does not exist. TooLarge: more than feed.MaxTasks tasks. Invalid: UntilSettled without tasks.
func (e *Kernel) ListenTo(ctx context.Context, f feed.Filter) (*feed.Listener, error) {
	if len(f.Tasks) > feed.MaxTasks {
		return nil, &task.Error{Code: task.TooLarge,
			Message: fmt.Sprintf("%d tasks for one stream; the limit is %d", len(f.Tasks), feed.MaxTasks)}
	}
	if f.UntilSettled && len(f.Tasks) == 0 {
		return nil, check.Refusal("the stream would never end",
			[]task.Problem{{Location: "until", Message: "name the tasks"}})
	}
	return e.feed.Listen(ctx, feedSource{e, e.Store}, f, e.Cluster != nil)
}

type feedSource struct {
	e     *Kernel
	tasks ReadTasks
}

// TaskStatuses implements feed.Source.
func (s feedSource) TaskStatuses(ctx context.Context, ids []task.ID) ([]feed.TaskStatus, error) {
	return s.tasks.TaskStatuses(ctx, ids)
}

// TemplateOf implements feed.Source.
func (s feedSource) TemplateOf(ctx context.Context, def int64) (*task.Template, error) {
	return s.e.TemplateOf(ctx, def)
}

// CountQueue implements feed.Source. All callers share the count.
func (s feedSource) CountQueue(ctx context.Context, namespaces []string) (*feed.QueueCount, error) {
	return s.e.CountQueue(ctx, namespaces)
}

// Subscribe implements feed.Source.
func (s feedSource) Subscribe(ctx context.Context) error {
	if s.e.Cluster == nil {
		return nil
	}
	if err := s.e.Cluster.SubscribeFeed(ctx, subscriptionTime); err != nil {
		return fmt.Errorf("say that somebody listens: %w", err)
	}
	return nil
}

func (e *Kernel) followPeerFeeds(ctx context.Context) error {
	src := feedSource{e, e.Store}
	ids, listening := e.feed.Interests()
	if listening {
		if err := src.Subscribe(ctx); err != nil {
			return err
		}
	}
	if err := e.feed.ReadStates(ctx, src, ids); err != nil {
		return err
	}
	e.feed.PublishGaps()
	wanted, err := e.Cluster.FeedSubscribed(ctx)
	if err != nil {
		return fmt.Errorf("look whether somebody listens: %w", err)
	}
	if !wanted {
		return nil
	}
	if drained := e.feed.Record(subscriptionTime); drained != nil { // else the first batch would hide running transactions
		patience := time.NewTimer(drainPatience)
		defer patience.Stop()
		select {
		case <-drained:
		case <-patience.C:
			return nil // the next poll may find it ended; until then others wait for this one
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.peerFeed.Wanted(e.Now().Add(subscriptionTime))
	return nil
}

// PublishFeed sends the changes committed here to listening processes. They learn of a gap if sending fails.
func (e *Kernel) PublishFeed(ctx context.Context) error {
	if e.Cluster == nil {
		return nil
	}
	err := e.peerFeed.Publish(e.feed, func(b feed.Batch) error { return e.Cluster.PublishFeed(ctx, b) })
	if err != nil {
		return fmt.Errorf("tell other nodes: %w", err)
	}
	return nil
}

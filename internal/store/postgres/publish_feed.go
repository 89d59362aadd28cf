package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// The feed of changes between nodes: see feed.Batch.

// listens is the prefix of a subscribed process's turn; the process's name follows.
const listens = "listen "

// SubscribeFeed implements engine.Cluster. A subscription is a turn of its process alone; it ends unless renewed within
// hold. It also deletes the rows of processes that ended long ago.
func (s *Store) SubscribeFeed(ctx context.Context, hold time.Duration) error {
	if _, err := s.Turn(ctx, listens+s.node, hold); err != nil {
		return err
	}
	_, err := s.Exec(ctx, `DELETE FROM tasker_turns WHERE loop LIKE $1 AND held_until < $2`, listens+"%",
		int64(task.At(s.Now()).Add(-time.Hour)))
	return err
}

// FeedSubscribed implements engine.Cluster. Without a subscriber on another node, nobody publishes, and the feed costs
// nothing.
func (s *Store) FeedSubscribed(ctx context.Context) (bool, error) {
	const query = `SELECT count(*) FROM tasker_turns WHERE loop LIKE $1 AND node <> $2 AND held_until > $3`
	var n int
	args := []any{listens + "%", s.node, int64(task.At(s.Now()))}
	err := s.Query(ctx, query, args, func(r store.Row) error { return r.Scan(&n) })
	return n > 0, err
}

// feedMessage is feed.Batch in a notification. Number counts the batches of a process, so that a receiver notices a
// gap. Lost: changes are missing.
type feedMessage struct {
	Number  uint64          `json:"n,omitempty"`
	Lost    bool            `json:"l,omitempty"`
	Changes []changeMessage `json:"c,omitempty"`
}

// changeMessage is one change, with short names, because a notification is small.
type changeMessage struct {
	Kind        feed.ChangeKind `json:"k"`
	At          task.Instant    `json:"a"`
	Task        string          `json:"t,omitempty"`
	Def         int64           `json:"d"`
	Priority    int             `json:"p,omitempty"`
	Correlation string          `json:"r,omitempty"`
	Tags        []string        `json:"g,omitempty"`
	From        task.State      `json:"f,omitempty"`
	To          task.State      `json:"s,omitempty"`
	Cause       string          `json:"w,omitempty"`
	Case        string          `json:"e,omitempty"`
	Reason      string          `json:"y,omitempty"`
	Status      string          `json:"x,omitempty"`
	// Inbox is an event of the inbox; Task is then empty.
	Inbox *deadletter.Event `json:"i,omitempty"`
}

// maxPayload bounds the bytes of changes in one notification, which is limited to 8,000 bytes; the rest is for the
// envelope.
const maxPayload = 7500

// PublishFeed implements engine.Cluster. One statement sends all parts of a batch, so they arrive together and in
// order.
func (s *Store) PublishFeed(ctx context.Context, t feed.Batch) error {
	payloads, err := s.split(t)
	if err != nil {
		return err
	}
	return s.Query(ctx, `SELECT count(pg_notify($1, p)) FROM unnest($2::text[]) AS p`, []any{s.channel, payloads},
		func(store.Row) error { return nil })
}

// split distributes feed messages over as many notifications as they need. A change that fits into none is lost, and
// split reports it. It estimates the room by the JSON of the changes and their commas.
func (s *Store) split(t feed.Batch) ([]string, error) {
	parts := []feedMessage{{Number: t.Number, Lost: t.Lost}}
	room := maxPayload
	for i := range t.Changes {
		c := changeMessageOf(&t.Changes[i])
		text, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("encode changes for other nodes: %w", err)
		}
		if len(text) > maxPayload {
			parts[0].Lost = true
			continue
		}
		if len(text) >= room {
			parts, room = append(parts, feedMessage{}), maxPayload
		}
		room -= len(text) + 1
		last := &parts[len(parts)-1]
		last.Changes = append(last.Changes, c)
	}
	payloads := make([]string, len(parts))
	for i := range parts {
		var err error
		if payloads[i], err = (peerMessage{Node: s.node, Feed: &parts[i]}).encode(); err != nil {
			return nil, err
		}
	}
	return payloads, nil
}

func changeMessageOf(c *feed.Change) changeMessage {
	if c.Inbox != nil {
		return changeMessage{Kind: c.Kind, Inbox: c.Inbox}
	}
	t := changeMessage{Kind: c.Kind, At: c.At, Task: c.Task.String(), Def: c.DefID, Priority: c.Priority,
		Correlation: c.CorrelationID, Tags: c.Tags,
		From: c.From, To: c.To, Cause: c.Cause, Reason: c.Reason, Status: c.Status}
	if !c.Case.IsZero() {
		t.Case = c.Case.String()
	}
	return t
}

// feedBatch returns another node's batch, nil if the message has none. Unreadable changes are lost.
func (b *peerMessage) feedBatch() *feed.Batch {
	if b.Feed == nil {
		return nil
	}
	t := &feed.Batch{From: b.Node, Number: b.Feed.Number, Lost: b.Feed.Lost}
	for _, c := range b.Feed.Changes {
		if c.Inbox != nil {
			t.Changes = append(t.Changes, feed.InboxChange(*c.Inbox))
			continue
		}
		change := feed.Change{Kind: c.Kind, At: c.At, DefID: c.Def, Priority: c.Priority, CorrelationID: c.Correlation,
			Tags: c.Tags,
			From: c.From, To: c.To, Cause: c.Cause, Reason: c.Reason, Status: c.Status}
		var err error
		if change.Task, err = task.ParseID(c.Task); err == nil && c.Case != "" {
			change.Case, err = task.ParseID(c.Case)
		}
		if err != nil {
			t.Lost = true
			continue
		}
		t.Changes = append(t.Changes, change)
	}
	return t
}

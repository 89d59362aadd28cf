package inbox

import (
	"context"
	"errors"
	"strconv"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// batch is a number of letters that are marked, sent and recorded together.
type batch struct {
	*runner

	items []deadletter.Item
	again bool // they were marked by a process that has ended

	sources map[string]*deadletter.Source
	decided []result // without being sent
	sending []outgoing
}

// outgoing is a letter that is marked, and where it goes.
type outgoing struct {
	item        deadletter.Item
	source      *deadletter.Source
	destination string
	out         Outgoing
}

// result is what became of one item.
type result struct {
	item deadletter.Item
	sent bool // the letter is marked: it was sent, or it opens again
	err  error
}

// mark stores that the letters are being sent, before they are. Letters that changed since the freeze are skipped.
func (b *batch) mark(ctx context.Context) error {
	return b.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		b.decided, b.sending = nil, nil
		ids := make([]task.ID, len(b.items))
		for i := range b.items {
			ids[i] = b.items[i].ID
		}
		letters, err := b.in.store.Letters(ctx, tx, sortIDs(ids))
		if err != nil {
			return err
		}
		of := map[task.ID]*deadletter.Letter{}
		for _, l := range letters {
			of[l.ID] = l
		}
		var marked []deadletter.Item
		var changed []*deadletter.Letter
		deltas := map[deadletter.GroupID]*deadletter.Delta{}
		for _, i := range b.items {
			l := of[i.ID]
			was := deadletter.Redriving
			if l != nil {
				was = l.State
			}
			out, err := b.prepare(ctx, i, l)
			if err != nil {
				return err
			}
			if out == nil {
				continue
			}
			out.item.State, out.item.At = deadletter.ItemSending, b.in.now()
			marked = append(marked, out.item)
			changed = append(changed, l)
			b.sending = append(b.sending, *out)
			if opened(was) > 0 {
				addOpen(deltas, l.Group, -1)
			}
		}
		if err := b.in.saveItems(ctx, tx, marked); err != nil {
			return err
		}
		if err := b.in.store.SaveLetters(ctx, tx, changed); err != nil {
			return err
		}
		return b.in.store.AddDeltas(ctx, tx, sortedDeltas(deltas))
	})
}

// prepare marks a letter and returns what to send; nil if it is not to be sent.
func (b *batch) prepare(ctx context.Context, i deadletter.Item, l *deadletter.Letter) (*outgoing, error) {
	skip := func(state deadletter.ItemState, why string) (*outgoing, error) {
		i.State, i.At, i.Message = state, b.in.now(), why
		b.decided = append(b.decided, result{item: i})
		return nil, nil
	}
	r := b.redrive
	if l == nil {
		return skip(deadletter.ItemSkipped, "it has been deleted")
	}
	if b.again && (l.State != deadletter.Redriving || l.Redrive != r.ID) {
		return skip(deadletter.ItemSent, "it was sent, or came back, before that was recorded")
	}
	if !b.again {
		if why, ok := l.Sends(r.IncludeParked); !ok {
			return skip(deadletter.ItemSkipped, why)
		}
	}
	content := l.Outgoing()
	if r.Edit != nil {
		edited, err := r.Edit.Apply(content)
		if err != nil {
			return skip(deadletter.ItemFailed, itemMessage(err))
		}
		content = edited
		if !b.again {
			if err := l.Edit(&edited); err != nil {
				return skip(deadletter.ItemFailed, itemMessage(err))
			}
		}
	}
	s, err := b.sourceOf(ctx, l)
	if err != nil {
		return nil, err
	}
	to := destination(r.Destination, l)
	switch {
	case s == nil:
		return skip(deadletter.ItemFailed, "its source has been removed")
	case !allows(s, to, l.Origin):
		return skip(deadletter.ItemFailed, "its source does not allow the destination "+quoted(to))
	case b.in.opts.Carriers[s.Driver] == nil:
		return skip(deadletter.ItemFailed, "this server has no driver "+quoted(s.Driver))
	}
	if !b.again {
		if err := l.Mark(r.ID, b.in.now()); err != nil {
			return skip(deadletter.ItemSkipped, itemMessage(err))
		}
	}
	return &outgoing{item: i, source: s, destination: to, out: Outgoing{Letter: l, Content: lineage(content, l)}}, nil
}

// allows reports whether letters of a source may be sent to a destination: to where they came from, and to the targets
// of the source. The origin of a letter that was reported is a claim of the program, which must not make this server
// call any URL; only targets count.
func allows(s *deadletter.Source, destination, origin string) bool {
	if s.Driver == HTTP {
		origin = ""
	}
	return s.Allows(destination, origin)
}

// sourceOf returns the source of a letter, nil if it was removed. It reads each source once.
func (b *batch) sourceOf(ctx context.Context, l *deadletter.Letter) (*deadletter.Source, error) {
	if s, ok := b.sources[l.Source]; ok {
		return s, nil
	}
	s, err := b.in.store.FindSource(ctx, l.Namespace, l.Source)
	if err == nil {
		if b.sources == nil {
			b.sources = map[string]*deadletter.Source{}
		}
		b.sources[l.Source] = s
	}
	return s, err
}

// lineage returns content with the headers by which a letter is recognised when it dies again.
func lineage(c deadletter.Content, l *deadletter.Letter) deadletter.Content {
	headers := make([]deadletter.Header, 0, len(c.Headers)+3)
	for _, h := range c.Headers {
		if h.Name != deadletter.HeaderLetter && h.Name != deadletter.HeaderRedrive && h.Name != deadletter.HeaderReplays {
			headers = append(headers, h)
		}
	}
	headers = append(headers, deadletter.Header{Name: deadletter.HeaderLetter, Value: []byte(l.ID.String())})
	if !l.Redrive.IsZero() {
		headers = append(headers, deadletter.Header{Name: deadletter.HeaderRedrive, Value: []byte(l.Redrive.String())})
	}
	c.Headers = append(headers, deadletter.Header{Name: deadletter.HeaderReplays,
		Value: []byte(strconv.Itoa(l.Replays + 1))})
	return c
}

// send sends what is marked, in order, and returns the results of the batch.
func (b *batch) send(ctx context.Context) []result {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	results := b.decided
	for from := 0; from < len(b.sending); {
		to := from + 1
		first := b.sending[from]
		for to < len(b.sending) && b.sending[to].source == first.source && b.sending[to].destination == first.destination {
			to++
		}
		run := make([]Outgoing, 0, to-from)
		for _, o := range b.sending[from:to] {
			run = append(run, o.out)
		}
		errs := b.in.opts.Carriers[first.source.Driver].Send(ctx, first.source, first.destination, run)
		for k, o := range b.sending[from:to] {
			results = append(results, sent(o.item, errs[k], b.in.now()))
		}
		from = to
	}
	return results
}

// sent is the result of one send.
func sent(i deadletter.Item, err error, now task.Instant) result {
	i.At = now
	switch {
	case err == nil:
		i.State = deadletter.ItemSent
	case errors.Is(err, ErrUncertain):
		i.State, i.Uncertain, i.Message = deadletter.ItemSent, true, itemMessage(err)
		err = nil
	default:
		i.State, i.Message = deadletter.ItemFailed, itemMessage(err)
	}
	return result{item: i, sent: true, err: err}
}

// recordSends stores results in items and letters. A letter that came back already keeps the result "returned".
func (in *Inbox) recordSends(ctx context.Context, tx engine.Tx, results []result, now task.Instant) error {
	var ids []task.ID
	for _, r := range results {
		if r.sent {
			ids = append(ids, r.item.ID)
		}
	}
	of := map[task.ID]*deadletter.Letter{}
	if len(ids) > 0 {
		letters, err := in.store.Letters(ctx, tx, sortIDs(ids))
		if err != nil {
			return err
		}
		for _, l := range letters {
			of[l.ID] = l
		}
	}
	deltas := map[deadletter.GroupID]*deadletter.Delta{}
	var items []deadletter.Item
	var changed []*deadletter.Letter
	for _, r := range results {
		l := of[r.item.ID]
		if r.sent && (l == nil || l.State != deadletter.Redriving) {
			continue // it came back, and its item says so
		}
		items = append(items, r.item)
		if !r.sent {
			continue
		}
		var err error
		if r.err == nil {
			err = l.Sent(now, deadletter.Retention)
		} else if err = l.Unmark(r.item.Message, now); err == nil {
			addOpen(deltas, l.Group, 1)
		}
		if err != nil {
			return err
		}
		changed = append(changed, l)
	}
	if err := in.saveItems(ctx, tx, items); err != nil {
		return err
	}
	if err := in.store.SaveLetters(ctx, tx, changed); err != nil {
		return err
	}
	return in.store.AddDeltas(ctx, tx, sortedDeltas(deltas))
}

// saveItems stores items, except those of no redrive: a policy sends without one.
func (in *Inbox) saveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error {
	if len(items) == 0 || items[0].Redrive.IsZero() {
		return nil
	}
	return in.store.SaveItems(ctx, tx, items)
}

// addOpen adds to the open letters of a group.
func addOpen(deltas map[deadletter.GroupID]*deadletter.Delta, id deadletter.GroupID, n int64) {
	if deltas[id] == nil {
		deltas[id] = &deadletter.Delta{Group: id}
	}
	deltas[id].OpenLetters += n
}

package inbox

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// batch is a number of letters that are marked, sent and recorded together. Its three steps are mark (a transaction),
// send (no transaction: a broker may take seconds) and recordSends (a transaction). A crash between them leaves marked
// letters, which runner.recover or SendDue finds and sends again under the same ID.
//
// A redrive and a policy use the same batch. A policy has no redrive: its runner holds a Redrive with a zero ID, and
// its items are not stored.
type batch struct {
	*runner

	items []deadletter.Item
	again bool // they were marked by a process that has ended; a redrive's items are read again in the transaction

	// By namespace and name; nil for one that was removed. Each is read once for the batch. The batch of a policy may
	// have letters of several namespaces.
	sources map[[2]string]*deadletter.Source
	at      task.Instant // of the mark: the same for all, so that equal changes are stored together
	decided []result     // without being sent
	sending []outgoing
}

// outgoing is a letter that is marked, with the way it takes.
type outgoing struct {
	item        deadletter.Item
	source      *deadletter.Source
	destination string
	out         Outgoing
}

// result is what became of one item. The version of the letter is compared with the stored one when the result is
// recorded.
type result struct {
	item   deadletter.Item
	letter *deadletter.Letter // as it was marked, so that it was sent or opens again; nil: it is not marked
	err    error
}

// mark stores that the letters are being sent, before they are. Letters that changed since the freeze are skipped.
// Nothing is marked for a redrive that an operator has paused or cancelled: what is sent from then on is nothing.
func (b *batch) mark(ctx context.Context) error {
	return b.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		// The store may run this function again after a conflict.
		b.decided, b.sending, b.at = nil, nil, b.in.now()
		b.sources = map[[2]string]*deadletter.Source{}
		if active, err := b.active(ctx, tx); err != nil || !active {
			return err
		}
		of, err := b.in.lettersOf(ctx, tx, b.items)
		if err != nil {
			return err
		}
		// The letters are locked before the items are read again: who records a result locks the letter first, too, so
		// an item that is still sending now stays so until this transaction ends.
		items, err := b.orphans(ctx, tx)
		if err != nil {
			return err
		}
		var marked []deadletter.Item
		var changed []*deadletter.Letter
		var tally deadletter.Tally
		news := letterNews{}
		for _, i := range items {
			l := of[i.ID]
			// The state before prepare changes it. A deleted letter counts like one that is marked: no count changes.
			was := deadletter.Redriving
			if l != nil {
				was = l.State
			}
			out, err := b.prepare(ctx, tx, i, l)
			if err != nil {
				return err
			}
			if out == nil {
				continue
			}
			marked = append(marked, out.item)
			changed = append(changed, l)
			b.sending = append(b.sending, *out)
			if b.redrive.ID.IsZero() {
				news.add(deadletter.EventRetrying, l, "")
			}
			// A marked letter is not open any more; if the send fails, recordSends counts it as open again.
			if opened(was) > 0 {
				tally.Of(l.Group).OpenLetters--
			}
		}
		if err := b.in.saveItems(ctx, tx, marked); err != nil {
			return err
		}
		save := b.in.store.SaveStates
		if b.redrive.Edit != nil {
			save = b.in.store.SaveLetters
		}
		if err := save(ctx, tx, changed); err != nil {
			return err
		}
		if err := b.in.store.AddDeltas(ctx, tx, tally.Deltas()); err != nil {
			return err
		}
		return b.in.tell(ctx, tx, news.events(b.at)...)
	})
}

// active locks the redrive and reports whether letters may be marked for it. What is sent again was marked before.
func (b *batch) active(ctx context.Context, tx engine.Tx) (bool, error) {
	if b.redrive.ID.IsZero() { // a policy's
		return true, nil
	}
	_, err := b.reload(ctx, tx)
	return b.again || b.redrive.State.Active(), err
}

// orphans returns the items to mark. Of those that are sent again it leaves out what came back, or was recorded after
// all: the letters are locked, so nothing changes them now.
func (b *batch) orphans(ctx context.Context, tx engine.Tx) ([]deadletter.Item, error) {
	if !b.again || b.redrive.ID.IsZero() {
		return b.items, nil
	}
	sending, err := b.in.store.Items(ctx, tx, b.redrive.ID, deadletter.ItemSending, 0, b.in.batch)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(b.items), func(i deadletter.Item) bool {
		return !slices.ContainsFunc(sending, func(s deadletter.Item) bool { return s.No == i.No && s.At == i.At })
	}), nil
}

// lettersOf returns the letters of items, locked, by their IDs.
func (in *Inbox) lettersOf(ctx context.Context, tx engine.Tx, items []deadletter.Item) (map[task.ID]*deadletter.Letter,
	error,
) {
	var ids []task.ID
	for _, i := range items {
		if isLetter(i) {
			ids = append(ids, i.ID)
		}
	}
	of := map[task.ID]*deadletter.Letter{}
	if len(ids) == 0 {
		return of, nil
	}
	letters, err := in.store.LettersToSend(ctx, tx, sortIDs(ids))
	for _, l := range letters {
		of[l.ID] = l
	}
	return of, err
}

// prepare decides about one item: it marks its letter and returns what to send, or notes the result of an item that is
// not sent and returns nil. The checks go from the letter to its way: deleted, changed or parked since the freeze, no
// source or destination, an edit that does not apply. Only the letter is changed; mark stores it.
func (b *batch) prepare(ctx context.Context, tx engine.Tx, i deadletter.Item, l *deadletter.Letter) (*outgoing, error) {
	now, r := b.at, b.redrive
	i.At = now
	if b.again {
		return b.prepareAgain(ctx, tx, i, l)
	}
	// skip decides the item without a mark. Its result has no version, so recordSends stores the item only.
	skip := func(state deadletter.ItemState, why string) (*outgoing, error) {
		i.State, i.Message = state, why
		b.decided = append(b.decided, result{item: i})
		return nil, nil
	}
	if l == nil {
		return skip(deadletter.ItemSkipped, "it has been deleted")
	}
	if why, ok := l.Sends(r.IncludeParked); !ok {
		return skip(deadletter.ItemSkipped, why)
	}
	s, why, err := b.route(ctx, tx, l)
	if err != nil {
		return nil, err
	}
	if why == "" {
		why = b.edit(l)
	}
	if why != "" {
		return skip(deadletter.ItemFailed, why)
	}
	if err := l.Mark(r.ID, now); err != nil {
		return skip(deadletter.ItemSkipped, itemMessage(err))
	}
	// The letter is not marked again: its version stays that of the first mark, by which recordSends knows it.
	return b.outgoing(i, l, s), nil
}

// prepareAgain prepares a letter that is marked already, and perhaps was sent. Its edit is part of the letter by now.
// One that cannot be sent any more opens again.
func (b *batch) prepareAgain(ctx context.Context, tx engine.Tx, i deadletter.Item, l *deadletter.Letter) (*outgoing,
	error,
) {
	if l == nil || l.State != deadletter.Redriving || l.Redrive != b.redrive.ID {
		i.State, i.Message = deadletter.ItemSent, "it was sent, or came back, before that was recorded"
		b.decided = append(b.decided, result{item: i})
		return nil, nil
	}
	s, why, err := b.route(ctx, tx, l)
	if err != nil {
		return nil, err
	}
	if why != "" {
		i.State, i.Message = deadletter.ItemFailed, why
		b.decided = append(b.decided, result{item: i, letter: l, err: errors.New(why)})
		return nil, nil
	}
	return b.outgoing(i, l, s), nil
}

// route returns the source through which a letter is sent, or why it cannot be. A source may have changed since the
// freeze, so it is asked again for every batch. err is of the database only.
func (b *batch) route(ctx context.Context, tx engine.Tx, l *deadletter.Letter) (s *deadletter.Source, why string,
	err error,
) {
	if s, err = b.sourceOf(ctx, tx, l); err != nil {
		return nil, "", err
	}
	to := destination(b.redrive.Destination, l)
	switch {
	case s == nil:
		why = "its source has been removed"
	case !allows(s, to, l.Origin):
		why = refusedDestination("its source", to)
	case b.in.opts.Carriers[s.Driver] == nil:
		why = "this server has no driver " + quoted(s.Driver)
	}
	return s, why, nil
}

// edit applies the edit of the redrive to a letter, and returns why it cannot.
func (b *batch) edit(l *deadletter.Letter) (why string) {
	if b.redrive.Edit == nil {
		return ""
	}
	edited, err := b.in.edited(l, b.redrive.Edit)
	if err == nil {
		err = l.Edit(&edited)
	}
	if err != nil {
		return itemMessage(err)
	}
	return ""
}

// outgoing is a marked letter with its item.
func (b *batch) outgoing(i deadletter.Item, l *deadletter.Letter, s *deadletter.Source) *outgoing {
	i.State = deadletter.ItemSending
	return &outgoing{item: i, source: s, destination: destination(b.redrive.Destination, l),
		out: Outgoing{Letter: l, Content: lineage(l.Outgoing(), l, retryHeaders(s, l, b.at))}}
}

// refusedDestination says why a letter cannot be sent to a destination that its source does not allow.
func refusedDestination(source, to string) string {
	if to == "" {
		return "it has no origin: give a destination"
	}
	return source + " does not allow the destination " + shownDestination(to) + "; add it to the targets of the source"
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

// sourceOf returns the source of a letter, nil if it was removed. It reads each source once. A nil source is remembered
// too.
func (b *batch) sourceOf(ctx context.Context, tx engine.Tx, l *deadletter.Letter) (*deadletter.Source, error) {
	of := [2]string{l.Namespace, l.Source}
	if s, ok := b.sources[of]; ok {
		return s, nil
	}
	s, err := b.in.store.Source(ctx, tx, l.Namespace, l.Source)
	if err == nil {
		b.sources[of] = s
	}
	return s, err
}

// maxRetryError bounds the error in a header, in bytes.
const maxRetryError = 1024

// retryHeaders returns what consumers of event platforms expect of a message that is sent back; nil for letters whose
// source is of another kind.
func retryHeaders(s *deadletter.Source, l *deadletter.Letter, now task.Instant) []deadletter.Header {
	if s.Driver != "kafka" && l.Format != "dlq_envelope" {
		return nil
	}
	return []deadletter.Header{
		{Name: deadletter.HeaderRetryCount, Value: []byte(strconv.Itoa(l.Replays + 1))},
		{Name: deadletter.HeaderOriginalError, Value: []byte(failure.Cut(l.Failure.Message, maxRetryError))},
		{Name: deadletter.HeaderRetryTimestamp, Value: []byte(now.Time().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))},
	}
}

// lineage returns content with the headers by which a letter is recognised when it dies again, and more. It replaces
// such headers that the content has already: a letter that was sent back before carries those of the last time. c is
// not changed; the headers are copied.
func lineage(c deadletter.Content, l *deadletter.Letter, more []deadletter.Header) deadletter.Content {
	headers := make([]deadletter.Header, 0, len(c.Headers)+3+len(more))
	for _, h := range c.Headers {
		replaced := slices.ContainsFunc(more, func(m deadletter.Header) bool { return m.Name == h.Name })
		if !replaced && h.Name != deadletter.HeaderLetter && h.Name != deadletter.HeaderRedrive &&
			h.Name != deadletter.HeaderReplays {
			headers = append(headers, h)
		}
	}
	headers = append(headers, more...)
	headers = append(headers, deadletter.Header{Name: deadletter.HeaderLetter, Value: []byte(l.ID.String())})
	if !l.Redrive.IsZero() {
		headers = append(headers, deadletter.Header{Name: deadletter.HeaderRedrive, Value: []byte(l.Redrive.String())})
	}
	c.Headers = append(headers, deadletter.Header{Name: deadletter.HeaderReplays,
		// This send included: the letter counts it once it is recorded.
		Value: []byte(strconv.Itoa(l.Replays + 1))})
	return c
}

// recordSends stores results in items and letters. A letter that is not as it was marked has come back, or another
// process has recorded it; its item says so.
//
// failed, if it is not nil, decides about a letter that is open again because its send failed with an error.
func (in *Inbox) recordSends(ctx context.Context, tx engine.Tx, results []result, now task.Instant,
	failed func(*deadletter.Letter, error),
) error {
	// Letters are locked before their items are stored, in the order that mark and capture use; another order could
	// deadlock with them.
	var ids []task.ID
	for _, r := range results {
		if r.letter != nil {
			ids = append(ids, r.letter.ID)
		}
	}
	as, err := in.store.Marks(ctx, tx, sortIDs(ids))
	if err != nil {
		return err
	}
	var tally deadletter.Tally
	var items []deadletter.Item
	var changed []*deadletter.Letter
	for _, r := range results {
		if r.letter == nil {
			items = append(items, r.item)
			continue
		}
		if version, marked := as[r.letter.ID]; !marked || version != r.letter.Version {
			continue
		}
		items = append(items, r.item)
		l := *r.letter // the store may run this function again after a conflict
		var err error
		if r.err == nil {
			err = l.Sent(now, deadletter.Retention)
			// The send failed for certain, so the letter opens again and counts as open.
		} else if err = l.Unmark(r.item.Message, now); err == nil {
			if failed != nil {
				failed(&l, r.err)
			}
			tally.Of(l.Group).OpenLetters += opened(l.State)
		}
		if err != nil {
			return err
		}
		changed = append(changed, &l)
	}
	if err := in.saveItems(ctx, tx, items); err != nil {
		return err
	}
	if err := in.store.SaveStates(ctx, tx, changed); err != nil {
		return err
	}
	in.observeSends(tx, results)
	return in.store.AddDeltas(ctx, tx, tally.Deltas())
}

// saveItems stores items, except those of no redrive: a policy sends without one.
func (in *Inbox) saveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error {
	if len(items) == 0 || items[0].Redrive.IsZero() {
		return nil
	}
	return in.store.SaveItems(ctx, tx, items)
}

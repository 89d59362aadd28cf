package outbox

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// batch is a number of letters that are marked (a transaction), delivered (no transaction: a broker may take seconds)
// and recorded (a transaction) together, for a redrive or a policy. After a crash in between, sendAgain finds the sends
// in flight.
//
// A policy has a redrive with a zero ID, and its items are not stored.
type batch struct {
	in      *Outbox
	turn    Turn
	Redrive *deadletter.Redrive
	items   []deadletter.Item

	sources map[deadletter.SourceKey]*deadletter.Source
	at      task.Instant      // of the mark, one for all: so equal changes are stored together
	Decided []deadletter.Item // not sent
	Left    []deadletter.Item
	Sending []outgoing
}

// NewBatch returns the next letters of a redrive.
func (in *Outbox) NewBatch(t Turn, r *deadletter.Redrive, items []deadletter.Item) *batch {
	return &batch{in: in, turn: t, Redrive: r, items: items}
}

// Mark stores that the letters are being sent, and skips those that changed since the freeze. It marks nothing once an
// operator has paused or cancelled the redrive.
//
// The letters are read before the transaction, because a SQLite transaction blocks all other writes. If a letter has
// changed since or is not to be sent, mark reads all again, locked.
func (b *batch) Mark(ctx context.Context) error {
	if b.Redrive.Edit == nil {
		read, err := b.letters(ctx, nil)
		if err != nil {
			return err
		}
		if err := b.markAs(ctx, read); !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return b.markAs(ctx, nil)
}

type lettersRead struct {
	of   map[task.ID]*deadletter.Letter
	left []task.ID
}

// markAs returns ErrChanged if the letters have changed since they were read. It reads them itself if read is nil.
func (b *batch) markAs(ctx context.Context, read *lettersRead) error {
	return b.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		// The store may run this function again after a conflict.
		b.Decided, b.Sending, b.Left, b.at = nil, nil, nil, b.in.Now()
		b.sources = map[deadletter.SourceKey]*deadletter.Source{}
		if err := b.turn.Holds(ctx, tx); err != nil {
			return err
		}
		if !b.Redrive.ID.IsZero() {
			r, err := b.in.LockedRedrive(ctx, tx, b.Redrive.ID)
			if err != nil {
				return err
			}
			if b.Redrive = r; !r.State.Active() {
				return nil
			}
		}
		letters := read
		if letters == nil {
			var err error
			if letters, err = b.letters(ctx, tx); err != nil {
				return err
			}
		}
		m, err := b.marks(ctx, tx, letters)
		if err != nil {
			return err
		}
		if read != nil && len(b.Decided) > 0 {
			return ErrChanged
		}
		if err := b.saveLetters(ctx, tx, m.letters, read != nil); err != nil {
			return err
		}
		return errors.Join(b.in.store.AddSends(ctx, tx, m.sends), b.in.saveItems(ctx, tx, m.items),
			b.in.store.AddDeltas(ctx, tx, m.tally.Deltas()), b.in.Tell(ctx, tx, m.news.Events(b.at)...))
	})
}

// saveLetters stores marked letters. Unlocked ones must have the version that was read.
func (b *batch) saveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter, unlocked bool) error {
	switch {
	case unlocked:
		return b.in.store.SaveUnchanged(ctx, tx, letters)
	case b.Redrive.Edit != nil:
		return b.in.store.SaveLetters(ctx, tx, letters)
	}
	return b.in.store.SaveStates(ctx, tx, letters)
}

type marks struct {
	items   []deadletter.Item
	letters []*deadletter.Letter
	sends   []deadletter.Send
	tally   deadletter.Tally
	news    desk.LetterNews
}

func (b *batch) marks(ctx context.Context, tx engine.Tx, read *lettersRead) (*marks, error) {
	unknown, err := b.unknown(ctx, tx, read.of)
	if err != nil {
		return nil, err
	}
	m := &marks{news: desk.LetterNews{}}
	for _, i := range b.items {
		if slices.Contains(read.left, i.ID) {
			b.Left = append(b.Left, i)
			continue
		}
		var l *deadletter.Letter
		was := model.LetterRedriving // a deleted letter changes no count
		if found := read.of[i.ID]; found != nil {
			letter := *found
			l, was = &letter, letter.State
		}
		out, err := b.prepare(ctx, tx, i, l, unknown[i.ID])
		if err != nil {
			return nil, err
		}
		if out == nil {
			if b.Redrive.ID.IsZero() && was == model.LetterScheduled { // prepare has opened it
				m.letters = append(m.letters, l)
			}
			continue
		}
		m.items, m.letters, m.sends = append(m.items, out.Item), append(m.letters, l), append(m.sends, out.Send)
		b.Sending = append(b.Sending, *out)
		if b.Redrive.ID.IsZero() {
			m.news.Add(deadletter.EventRetrying, l, "")
		}
		// A marked letter is not open. If the send fails, record counts it as open again.
		m.tally.Of(l.Group).OpenLetters -= letters.Opened(was)
	}
	return m, nil
}

func (b *batch) unknown(ctx context.Context, tx engine.Tx, of map[task.ID]*deadletter.Letter) (
	map[task.ID]*deadletter.Send, error,
) {
	var ids []task.ID
	for id, l := range of {
		if l.Unknown {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	sends, err := b.in.store.SendsOf(ctx, tx, deadletter.SendLetter, ids)
	found := map[task.ID]*deadletter.Send{}
	for i := range sends {
		if s := &sends[i]; s.No == of[s.Owner].Replays+1 {
			found[s.Owner] = s
		}
	}
	return found, err
}

// batchBytes bounds the large payloads of a batch after its first letter.
const batchBytes = 32 << 20

func (b *batch) letters(ctx context.Context, tx engine.Tx) (*lettersRead, error) {
	letters, left, err := b.in.store.LettersToSend(ctx, tx, IDsOf(b.items), batchBytes)
	return &lettersRead{of: byID(letters), left: left}, err
}

func byID(letters []*deadletter.Letter) map[task.ID]*deadletter.Letter {
	of := make(map[task.ID]*deadletter.Letter, len(letters))
	for _, l := range letters {
		of[l.ID] = l
	}
	return of
}

// prepare marks the letter of an item and returns its send. For an item that is not sent it notes the result and
// returns nil, and opens a letter of a policy, so that an operator sees it. before is the last send, if its outcome is
// not known.
func (b *batch) prepare(ctx context.Context, tx engine.Tx, i deadletter.Item, l *deadletter.Letter,
	before *deadletter.Send,
) (*outgoing, error) {
	now, r := b.at, b.Redrive
	i.At = now
	skip := func(state model.ItemState, why string) (*outgoing, error) {
		i.State, i.Message = state, why
		b.Decided = append(b.Decided, i)
		if r.ID.IsZero() && l != nil && l.State == model.LetterScheduled { // otherwise the policy would try without end
			return nil, l.Unschedule(why, now)
		}
		return nil, nil
	}
	if l == nil {
		return skip(model.ItemSkipped, "it has been deleted")
	}
	if why, ok := l.MaySend(r.IncludeParked); !ok {
		return skip(model.ItemSkipped, why)
	}
	to := Destination(r.Destination, l)
	s, why, err := b.route(ctx, tx, l, to)
	if err != nil {
		return nil, err
	}
	if why == "" {
		why = b.edit(l)
	}
	if why != "" {
		return skip(model.ItemFailed, why)
	}
	send := deadletter.Send{Owner: l.ID, Kind: deadletter.SendLetter, Namespace: l.Namespace, Source: l.Source,
		Destination: to, Content: l.Canonical, MessageID: l.MessageID, Lineage: l.Lineage}
	if before != nil && before.Again(to, l.Canonical) {
		send = *before
		send.Tries = 0
	} else {
		l.Supersede()
		send.No = l.Replays + 1
	}
	if err := l.Mark(r.ID, now); err != nil {
		return skip(model.ItemSkipped, desk.ItemMessage(err))
	}
	send.About, send.Item = r.ID, i.No
	send.Mark(b.turn.no, now)
	i.State = model.ItemSending
	i.Uncertain = send.Copies > 0
	out := newOutgoing(send, i, l, s, now)
	return &out, nil
}

func (b *batch) route(ctx context.Context, tx engine.Tx, l *deadletter.Letter, to string) (s *deadletter.Source,
	why string, err error,
) {
	if s, err = b.sourceOf(ctx, tx, l); err != nil {
		return nil, "", err
	}
	switch {
	case s == nil:
		why = "its source has been removed"
	case !Allows(s, to, l.Origin):
		why = RefusedDestination("its source", to)
	case b.in.carriers[s.Driver] == nil:
		why = "this server has no driver " + Quoted(s.Driver)
	}
	return s, why, nil
}

func (b *batch) edit(l *deadletter.Letter) (why string) {
	if b.Redrive.Edit == nil {
		return ""
	}
	edited, err := b.in.letters.Edited(l, b.Redrive.Edit)
	if err == nil {
		err = l.Edit(&edited)
	}
	if err != nil {
		return desk.ItemMessage(err)
	}
	return ""
}

func (b *batch) sourceOf(ctx context.Context, tx engine.Tx, l *deadletter.Letter) (*deadletter.Source, error) {
	of := deadletter.SourceKey{Namespace: l.Namespace, Name: l.Source}
	if s, ok := b.sources[of]; ok {
		return s, nil
	}
	s, err := b.in.store.Source(ctx, tx, l.Namespace, l.Source)
	if err == nil {
		b.sources[of] = s
	}
	return s, err
}

// saveItems stores items of redrives: a policy sends without one, and a batch of repeated sends may have both.
func (in *Outbox) saveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error {
	of := slices.DeleteFunc(slices.Clone(items), func(i deadletter.Item) bool { return i.Redrive.IsZero() })
	return in.store.SaveItems(ctx, tx, of)
}

// LockedRedrive returns a redrive, locked, or NotFound.
func (in *Outbox) LockedRedrive(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Redrive, error) {
	r, err := in.store.Redrive(ctx, tx, id)
	if err == nil && r == nil {
		err = NoRedrive(id)
	}
	return r, err
}

// NoRedrive is the error for a missing redrive.
func NoRedrive(id task.ID) error {
	return desk.Hinted(task.NotFound, "a redrive is deleted 90 days after its end", "there is no redrive %s", id)
}

// IDsOf returns the IDs of the letters of items.
func IDsOf(items []deadletter.Item) []task.ID {
	ids := make([]task.ID, len(items))
	for n, i := range items {
		ids[n] = i.ID
	}
	return ids
}

// ItemOf returns the item of a send; a zero one without a redrive.
func (in *Outbox) ItemOf(ctx context.Context, tx engine.Tx, s *deadletter.Send) (deadletter.Item, error) {
	if s.About.IsZero() {
		return deadletter.Item{}, nil
	}
	item, err := in.store.ItemOf(ctx, tx, s.About, s.Owner)
	if err != nil || item == nil {
		return deadletter.Item{}, err
	}
	return *item, nil
}

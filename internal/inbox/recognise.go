package inbox

import (
	"bytes"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A message that has died is one of three things, and each needs a proof:
//
//   - a duplicate of a delivery that is stored: its broker's position is known, or the journal of the source proves that
//     it was delivered before, or it is the same report of a program;
//   - a return: it consumes a send of the outbox that agrees with it;
//   - a new letter, otherwise. It is linked with those that it resembles, and never merged.
//
// No header, ID or clock of a consumer decides alone.

// claims are what the messages of a batch may be: letters and sends that are loaded and locked.
type claims struct {
	byIdentity map[string]*deadletter.Letter
	letters    map[task.ID]*deadletter.Letter     // one object for each row
	sends      map[task.ID][]*deadletter.Send     // of those letters, by number
	byContent  map[SentContent][]*deadletter.Send // that no death has consumed, the latest first
	lineage    map[SentContent]int                // sends of the letter that was sent last with a content
	namesakes  map[string]task.ID                 // newest letters of the source by message ID
}

// business reports whether a format's message ID is that of an event, which outlives its headers. The message ID of a
// broker is the sender's, and says nothing of the content.
func (a *prepared) business() bool {
	return a.MessageID != "" && (a.Format == "dlq_envelope" || a.Format == "watermill")
}

// sent is the content by which a message without headers is a death of a send.
func (a *prepared) sent() SentContent { return SentContent{a.canonical, a.MessageID} }

// proves reports whether a message that agrees with a send is that of the send, and no equal one.
func (a *prepared) proves(s *deadletter.Send) bool {
	return a.named() || a.MessageID != "" || s.State == deadletter.SendDelivered
}

// named reports whether a message names a letter in its headers.
func (a *prepared) named() bool { return !a.Letter.IsZero() && !a.Reread }

// bare reports whether a message may be recognised by its content.
func (a *prepared) bare() bool { return a.Letter.IsZero() && !a.Reread }

// load finds the letters and sends that the messages may be, with a few queries for the whole batch.
func (c *capture) load(arrivals []prepared) (err error) {
	c.claims = claims{byIdentity: map[string]*deadletter.Letter{}, letters: map[task.ID]*deadletter.Letter{},
		sends: map[task.ID][]*deadletter.Send{}, byContent: map[SentContent][]*deadletter.Send{}}
	var names []string
	var ids []task.ID
	wanted := map[SentContent]int{}
	for i := range arrivals {
		a := &arrivals[i]
		if a.MessageID != "" && !a.Reread {
			names = append(names, a.MessageID)
		}
		if a.named() {
			ids = append(ids, a.Letter)
		}
		if a.bare() {
			wanted[a.sent()]++
		}
	}
	slices.Sort(names)
	if c.namesakes, err = c.in.store.Namesakes(c.ctx, c.tx, c.source.Namespace, c.source.Name,
		slices.Compact(names)); err != nil {
		return err
	}
	for i := range arrivals {
		if a := &arrivals[i]; a.bare() && a.business() && !c.namesakes[a.MessageID].IsZero() {
			ids = append(ids, c.namesakes[a.MessageID])
		}
	}
	if err := c.lock(ids); err != nil {
		return err
	}
	if err := c.loadContents(wanted); err != nil {
		return err
	}
	return c.loadIdentities(arrivals)
}

// lock loads letters that are not loaded, and their sends. An ID in a header is its sender's claim: lock leaves out
// letters of other namespaces.
func (c *capture) lock(ids []task.ID) error {
	ids = slices.DeleteFunc(sortIDs(ids), func(id task.ID) bool { return c.letters[id] != nil })
	letters, err := c.in.store.Letters(c.ctx, c.tx, ids)
	if err != nil {
		return err
	}
	var owners []task.ID
	for _, l := range letters {
		if l.Namespace == c.source.Namespace {
			c.letters[l.ID], owners = l, append(owners, l.ID)
		}
	}
	sends, err := c.in.store.SendsOf(c.ctx, c.tx, deadletter.SendLetter, owners)
	for i := range sends {
		c.sends[sends[i].Owner] = append(c.sends[sends[i].Owner], &sends[i])
	}
	return err
}

// contentRounds bounds how often loadContents looks again because other transactions have consumed a send.
const contentRounds = 4

// loadContents finds sends of the source that no death has consumed, as many as messages of a content are wanted: equal
// messages are a multiset. It reads a send before it locks it, so another transaction may have consumed it; then it
// looks for others.
func (c *capture) loadContents(wanted map[SentContent]int) (err error) {
	namespace, source := c.source.Namespace, c.source.Name
	if c.lineage, err = c.in.store.AnySends(c.ctx, c.tx, namespace, source,
		slices.Collect(maps.Keys(wanted))); err != nil {
		return err
	}
	for content := range c.lineage {
		for range contentRounds {
			found, err := c.in.store.OpenSends(c.ctx, c.tx, namespace, source, content, wanted[content])
			if err != nil {
				return err
			}
			var ids []task.ID
			for _, s := range found {
				if c.letters[s.Owner] == nil {
					ids = append(ids, s.Owner)
				}
			}
			if err := c.lock(ids); err != nil {
				return err
			}
			if c.open(content, found) == len(found) || len(ids) == 0 {
				break
			}
		}
	}
	return nil
}

// open notes those of the sends that are still open now that they are locked, and returns how many.
func (c *capture) open(content SentContent, found []deadletter.Send) int {
	c.byContent[content] = nil
	for _, f := range found {
		for _, s := range c.sends[f.Owner] {
			if s.No == f.No && s.Open() {
				c.byContent[content] = append(c.byContent[content], s)
			}
		}
	}
	return len(c.byContent[content])
}

func (c *capture) loadIdentities(arrivals []prepared) error {
	var sought []string
	for i := range arrivals {
		// A new letter with a known identity is found by its insert. What would be a return must not be a repetition.
		if a := &arrivals[i]; c.look || a.named() || len(c.byContent[a.sent()]) > 0 || c.business(a) != nil {
			sought = append(sought, a.identity)
		}
	}
	letters, err := c.in.store.Identified(c.ctx, c.tx, c.source.Namespace, c.source.Name, sought)
	for identity, l := range letters {
		if loaded := c.letters[l.ID]; loaded != nil {
			l = loaded
		}
		c.letters[l.ID], c.byIdentity[identity] = l, l
	}
	return err
}

// business returns the newest letter of the source with the same event, nil for none.
func (c *capture) business(a *prepared) *deadletter.Letter {
	if a.business() && a.bare() {
		return c.letters[c.namesakes[a.MessageID]]
	}
	return nil
}

// recognise returns the letter of a message, nil for a new message, and the send that it consumes, nil for a duplicate.
func (c *capture) recognise(a *prepared) (*deadletter.Letter, *deadletter.Send) {
	l := c.byIdentity[a.identity]
	if l != nil && (a.Position != "" || a.FailedAt%1_000_000 != 0) { // a time in whole seconds proves nothing
		return l, nil
	}
	if s := c.match(a); s != nil {
		if second := s.Dies(a.proves(s), a.named()); second {
			c.consume(s)
			return c.letters[s.Owner], nil
		}
		return c.letters[s.Owner], s
	}
	return l, nil
}

// match returns the send that a message is a death of, nil for none.
func (c *capture) match(a *prepared) *deadletter.Send {
	if a.Reread {
		return nil
	}
	if a.named() {
		for _, s := range slices.Backward(c.sends[a.Letter]) {
			if a.Replays > 0 && s.No != a.Replays || s.State == deadletter.SendRefused || !agrees(a, s) {
				continue
			}
			// A second copy of a send is one only if there may be one, and if the message names the send.
			if s.Died == 0 || a.Replays > 0 && s.Died < s.Copies {
				return s
			}
		}
		return nil
	}
	if l := c.business(a); l != nil {
		for _, s := range slices.Backward(c.sends[l.ID]) {
			if s.Open() && agrees(a, s) {
				return s
			}
		}
	}
	for _, s := range c.byContent[a.sent()] {
		if s.State == deadletter.SendUnknown && !a.proves(s) {
			continue // it may not have arrived: then the message would be lost
		}
		if s.Open() && agrees(a, s) && sameKey(a, c.letters[s.Owner]) {
			return s
		}
	}
	return nil
}

// agrees reports whether content and destination of a send are those of a message.
func agrees(a *prepared, s *deadletter.Send) bool {
	return s.Content == a.canonical && deadletter.Lands(s.Destination, a.Origin)
}

// sameKey reports whether the key of a message is that of a letter, as far as both have one.
func sameKey(a *prepared, l *deadletter.Letter) bool {
	key := l.Outgoing().Key
	return key == nil || a.Content.Key == nil || bytes.Equal(key, a.Content.Key)
}

// related links a new letter with those that it resembles, and counts the sends of the one that it continues: so the
// loop guard holds for a message that its consumer changes, or whose headers it drops.
func (c *capture) related(l *deadletter.Letter, a *prepared) {
	of := c.letters[a.Letter]
	same := c.namesakes[a.MessageID]
	switch {
	case a.named() && of != nil:
		l.Link = deadletter.Link{Kind: deadletter.LinkHeader, Letter: of.ID}
		for _, s := range c.sends[of.ID] {
			// Without the number it may be of any of them, and the guard must hold.
			if (a.Replays == 0 || s.No == a.Replays) && deadletter.Lands(s.Destination, a.Origin) {
				l.Lineage = max(l.Lineage, s.No+s.Lineage)
			}
		}
	case a.MessageID != "" && !same.IsZero():
		l.Link = deadletter.Link{Kind: deadletter.LinkID, Letter: same}
		if of := c.business(a); of != nil {
			l.Lineage = of.Sends()
		}
	}
	if a.bare() {
		l.Lineage = max(l.Lineage, c.lineage[a.sent()])
	}
}

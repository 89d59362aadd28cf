package capture

import (
	"bytes"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A message that died is one of three things, and each needs proof.
//
// It is a duplicate of a stored delivery if its broker's position is known, if the journal of the source has it, or if
// it is the same report of a program. It is a return if it consumes a send of the outbox that agrees with it. Otherwise
// it is a new letter, which is linked with similar ones and never merged.
//
// No header, ID or clock of a consumer decides alone.

type claims struct {
	byIdentity map[string]*deadletter.Letter
	letters    map[task.ID]*deadletter.Letter            // one object for each row
	sends      map[task.ID][]*deadletter.Send            // of those letters, by number
	byContent  map[outbox.SentContent][]*deadletter.Send // not consumed by a death, the latest first
	lineage    map[outbox.SentContent]int
	namesakes  map[string]task.ID // newest letters of the source by message ID
}

// business reports whether a format's message ID is that of an event, which outlives its headers. The sender chooses
// the message ID of a broker, which identifies no content.
func (a *prepared) business() bool {
	return a.MessageID != "" && (a.Format == "dlq_envelope" || a.Format == "watermill")
}

// sent is the content by which a message without headers is a death of a send.
func (a *prepared) sent() outbox.SentContent {
	return outbox.SentContent{Content: a.canonical, MessageID: a.MessageID}
}

func (a *prepared) proves(s *deadletter.Send) bool {
	return a.named() || a.MessageID != "" || s.State == deadletter.SendDelivered
}

func (a *prepared) named() bool { return !a.Letter.IsZero() && !a.Reread }

// bare reports whether content alone may identify a message.
func (a *prepared) bare() bool { return a.Letter.IsZero() && !a.Reread }

func (c *capture) load(arrivals []prepared) (err error) {
	c.claims = claims{byIdentity: map[string]*deadletter.Letter{}, letters: map[task.ID]*deadletter.Letter{},
		sends: map[task.ID][]*deadletter.Send{}, byContent: map[outbox.SentContent][]*deadletter.Send{}}
	var names []string
	var ids []task.ID
	wanted := map[outbox.SentContent]int{}
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

// lock loads missing letters and their sends. The sender claims the ID in a header, so lock leaves out letters of other
// namespaces.
func (c *capture) lock(ids []task.ID) error {
	ids = slices.DeleteFunc(desk.SortIDs(ids), func(id task.ID) bool { return c.letters[id] != nil })
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

const contentRounds = 4

// loadContents finds sends of the source that no death has consumed, as many as there are messages of a content: equal
// messages are a multiset. It reads a send before it locks it, and looks for others if another transaction consumed it
// meanwhile.
func (c *capture) loadContents(wanted map[outbox.SentContent]int) (err error) {
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

// open adds the sends that are still open after the lock, and returns their number.
func (c *capture) open(content outbox.SentContent, found []deadletter.Send) int {
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
		// The insert finds a known identity of a new letter. A possible return must not be a repetition.
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

func (c *capture) business(a *prepared) *deadletter.Letter {
	if a.business() && a.bare() {
		return c.letters[c.namesakes[a.MessageID]]
	}
	return nil
}

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

func (c *capture) match(a *prepared) *deadletter.Send {
	if a.Reread {
		return nil
	}
	if a.named() {
		for _, s := range slices.Backward(c.sends[a.Letter]) {
			if a.Replays > 0 && s.No != a.Replays || s.State == deadletter.SendRefused || !agrees(a, s) {
				continue
			}
			// A second copy of a send needs a possible copy, and a message that names the send.
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

func agrees(a *prepared, s *deadletter.Send) bool {
	return s.Content == a.canonical && deadletter.Lands(s.Destination, a.Origin)
}

func sameKey(a *prepared, l *deadletter.Letter) bool {
	key := l.Outgoing().Key
	return key == nil || a.Content.Key == nil || bytes.Equal(key, a.Content.Key)
}

// related links a new letter with similar ones, and counts the sends of the one that it continues: the loop guard must
// hold for a message that its consumer changes, or whose headers it drops.
func (c *capture) related(l *deadletter.Letter, a *prepared) {
	of := c.letters[a.Letter]
	same := c.namesakes[a.MessageID]
	switch {
	case a.named() && of != nil:
		l.Link = deadletter.Link{Kind: deadletter.LinkHeader, Letter: of.ID}
		for _, s := range c.sends[of.ID] {
			// Without the number it may be any of them, and the guard must hold.
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

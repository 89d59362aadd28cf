package inbox

import (
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

// load finds the letters that the messages may be, locked, with three queries for the whole batch. By content comes
// first, then by ID, then by identity; the first object of a row is kept.
func (c *capture) load(arrivals []prepared) error {
	c.byIdentity, c.byID = map[string]*deadletter.Letter{}, map[task.ID]*deadletter.Letter{}
	var ids []task.ID
	for _, a := range arrivals {
		if !a.Letter.IsZero() {
			ids = append(ids, a.Letter)
		}
	}
	rows := c.in.store
	if err := c.loadReturning(arrivals); err != nil {
		return err
	}
	if len(ids) > 0 {
		letters, err := rows.Letters(c.ctx, c.tx, sortIDs(ids))
		if err != nil {
			return err
		}
		for _, l := range letters {
			if l.Namespace == c.source.Namespace && c.byID[l.ID] == nil { // the header is the sender's claim
				c.byID[l.ID] = l
			}
		}
	}
	var sought []string
	for i := range arrivals {
		// A new letter with a known identity is found by its insert. What would be a return must not be a repetition.
		if a := &arrivals[i]; c.look || !a.Letter.IsZero() || a.bare() && c.byContent[a.canonical] != nil {
			sought = append(sought, a.identity)
		}
	}
	letters, err := rows.Identified(c.ctx, c.tx, c.source.Namespace, c.source.Name, sought)
	if err != nil {
		return err
	}
	for identity, l := range letters {
		if loaded := c.byID[l.ID]; loaded != nil {
			l = loaded // one object for each row
		} else {
			c.byID[l.ID] = l
		}
		c.byIdentity[identity] = l
	}
	return nil
}

// loadReturning finds letters that were sent back by their content, for messages that cannot carry headers.
func (c *capture) loadReturning(arrivals []prepared) error {
	c.byContent = map[string]*deadletter.Letter{}
	var hashes []string
	for _, a := range arrivals {
		if a.bare() {
			hashes = append(hashes, a.canonical)
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	slices.Sort(hashes)
	letters, err := c.in.store.Returning(c.ctx, c.tx, c.source.Namespace, slices.Compact(hashes))
	for _, l := range letters {
		c.byContent[l.Canonical] = l
		c.byID[l.ID] = l
	}
	return err
}

// bare reports whether a message has nothing but its content by which it could be recognised.
func (a *Arrival) bare() bool {
	return !a.Reread && a.Letter.IsZero() && a.MessageID == "" && len(a.Content.Headers) == 0
}

// recognise returns the letter that a message is, and whether it has returned; nil for a new one.
func (c *capture) recognise(a *prepared) (l *deadletter.Letter, returns bool) {
	l = c.byIdentity[a.identity]
	if l != nil && !sentBack(l) && a.byContent() && a.Exact && !a.Redelivered {
		a.identity, l = deadletter.Identify("", c.in.newID().String(), a.Content), nil
	}
	of := c.byID[a.Letter]
	switch {
	case of != nil && a.Replays > 0: // it names the send: no time and no position is needed to recognise it
		if sentBack(of) && a.Replays == currentSend(of) {
			return of, true
		}
		// The return of that send is counted already: this is a second copy, of a send whose outcome was not known.
		if l == nil && sameContent(a, of) {
			l = of
		}
		return l, false // else another message under its header
	case l != nil && (a.Position != "" || !sentBack(l) || a.FailedAt != 0 && a.FailedAt <= l.LastAt):
		return l, false
	case l != nil:
		return l, true
	case of != nil && sentBack(of):
		return of, true
	case of != nil && a.Position == "" && a.MessageID == "":
		return of, false // it has come back already
	}
	if a.bare() {
		if l = c.byContent[a.canonical]; l != nil && !sentBack(l) {
			l = nil // it has come back already
		}
	}
	return l, l != nil
}

// currentSend is the number of the send of a letter that was sent back, or is being sent.
func currentSend(l *deadletter.Letter) int {
	if l.State == deadletter.Redriving { // it is counted when it is recorded
		return l.Replays + 1
	}
	return l.Replays
}

// sameContent reports whether a message has what a letter died with first, or what is sent of it.
func sameContent(a *prepared, l *deadletter.Letter) bool {
	died := a.canonical
	return died == l.Canonical || died == deadletter.Canonical(l.Original)
}

// sentBack reports whether a letter was sent back, or is being sent, so that it can die again.
func sentBack(l *deadletter.Letter) bool {
	return l.State == deadletter.Redriven || l.State == deadletter.Redriving
}

package letters

import (
	"context"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/proof/crashtest/account"
)

// history is Tasker's account of a message. After a failover a message of a list may be several letters.
type history struct {
	letters     []deadletters.Letter
	replays     int
	occurrences int
	uncertain   int // sends with a try without an answer: perhaps repeated, or failed and there anyway
	undone      int // those of them that are reported as failed: the letter is open again, and a death adds nothing
	items       []string
	exposed     bool // it changed while Redis was about to lose it
}

// check compares the messages and the consumer's deliveries with Tasker's account.
func (r *run) check(ctx context.Context) error {
	items, redrives, err := r.nodes.Items(ctx, &r.Violations)
	if err != nil {
		return err
	}
	r.add("redrives", redrives)
	for at, i := range items {
		if i.State == deadletters.ItemFailed {
			r.count("failed items")
		}
		if i.State == deadletters.ItemSending || i.State == deadletters.ItemPending && i.Of == deadletters.RedriveDone {
			r.Wrong("undecided", "item %d of the redrive %s is %s", i.No, at.Redrive, i.State)
		}
	}
	acts, err := r.nodes.Acts(ctx)
	if err != nil {
		return err
	}
	accounts := map[int]*history{}
	for _, source := range []string{byHand, automatic} {
		letters, err := r.nodes.Letters(ctx, source)
		if err != nil {
			return err
		}
		for _, l := range letters {
			r.book(accounts, l, items, acts[l.LetterUUID.String()])
		}
	}
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	delivered := map[int]int{}
	for _, d := range r.world.deliveries {
		delivered[d.message]++
		if d.message < 1 || d.message > len(r.world.messages) {
			r.Wrong("unknown", "the consumer got the message %d", d.message)
		}
	}
	for i, m := range r.world.messages {
		a := accounts[i+1]
		if a == nil {
			a = &history{}
		}
		a.exposed = a.exposed || r.failover && r.lostIn(m.at)
		r.checkMessage(i+1, m, a, delivered[i+1])
	}
	if r.kind.headers() {
		r.checkHeaders(items)
	}
	if r.kind == topics {
		r.checkKeys(items)
	}
	r.add("messages", len(r.world.messages))
	r.add("deliveries", len(r.world.deliveries))
	return nil
}

func (r *run) book(accounts map[int]*history, l deadletters.Letter, items map[account.Send]account.Item, acts int) {
	n := order(string(l.Original.Payload))
	if n < 1 || n > len(r.world.messages) {
		r.Wrong("unknown", "letter %s is of the message %q", l.LetterUUID, l.Original.Payload)
		return
	}
	a := accounts[n]
	if a == nil {
		a = &history{}
		accounts[n] = a
	}
	r.count("letters")
	a.letters = append(a.letters, l)
	a.replays += l.Replays
	a.occurrences += l.Occurrences
	a.uncertain += acts
	a.exposed = a.exposed || r.lostIn(l.CapturedAt) || r.lostIn(l.LastAt) || r.lostIn(l.StateAt)
	sent := 0
	for at, i := range items {
		if at.Letter != l.LetterUUID.String() {
			continue
		}
		if i.Sent() {
			sent++
		}
		if i.Uncertain { // a failed one, too: a process may have sent it, and ended before another try
			a.uncertain++
		}
		if i.Uncertain && i.State == deadletters.ItemFailed {
			a.undone++
		}
		a.items = append(a.items, fmt.Sprintf("%s %s uncertain=%t %q", at.Redrive, i.State, i.Uncertain, i.Message))
		a.exposed = a.exposed || r.lostIn(i.At)
	}
	if l.Source == byHand && sent != l.Replays {
		r.Wrong("replays", "letter %s has %d replays, and %d items of redrives were sent", l.LetterUUID, l.Replays, sent)
	}
}

func (r *run) checkMessage(n int, m message, a *history, delivered int) {
	switch {
	case len(a.letters) == 0 && m.lost:
		r.count("lost by FLUSHALL")
	case len(a.letters) == 0 && m.sure && a.exposed:
		r.count("lost by a failover")
	case len(a.letters) == 0 && m.sure:
		r.Wrong("lost", "message %d of %v is no letter", n, m.at.Format("15:04:05.000"))
	case len(a.letters) > 1 && a.exposed && r.kind == lists:
		r.count("captured twice after a failover")
	case len(a.letters) > 1:
		r.Wrong("twice in", "message %d is %d letters: %s and %s", n, len(a.letters), a.letters[0].Position,
			a.letters[1].Position)
	}
	r.add("uncertain", a.uncertain)
	switch extra := delivered - a.replays; {
	case extra > 0 && r.resends() && a.uncertain > 0:
		r.add("sent twice, and reported", extra)
	case extra > 0:
		r.Wrong("sent twice", "message %d was delivered %d times; %d sends are reported, %d of them as uncertain", n,
			delivered, a.replays, a.uncertain)
	case extra < 0 && a.exposed:
		r.add("sends lost by a failover", -extra)
	case extra < 0: // sent means delivered
		r.Wrong("not sent", "message %d was delivered %d times; %d sends are reported, %d of them as uncertain", n,
			delivered, a.replays, a.uncertain)
	}
	if len(a.letters) == 0 || a.exposed {
		return
	}
	least, most := len(a.letters)+m.returns, len(a.letters)+m.maybe
	if m.lost {
		least = len(a.letters)
	}
	if a.occurrences < least-a.undone || a.occurrences > most {
		r.Wrong("occurrences", "message %d has died %d to %d times; its letter says %d, its sends: %s", n, least, most,
			a.occurrences, strings.Join(a.items, "; "))
	} else if a.occurrences < least {
		r.add("deaths of failed sends", least-a.occurrences)
	}
}

// resends reports whether a send with an unknown outcome may come twice. Redis remembers sends, unless it has lost
// them; others do not.
func (r *run) resends() bool { return r.flush || r.failover || r.kind.blind }

// checkHeaders compares each delivery that has headers with the item of its send.
func (r *run) checkHeaders(items map[account.Send]account.Item) {
	got := map[account.Send]int{}
	for _, d := range r.world.deliveries {
		at := d.send()
		got[at]++
		if d.redrive == "" {
			continue
		}
		item, ok := items[at]
		switch sent := item.Sent(); {
		case !ok || !sent && !item.Uncertain:
			r.Wrong("unreported", "%+v was delivered; its item is %q: %s", d, item.State, item.Message)
		case got[at] > 1 && (!item.Uncertain || !r.resends()):
			r.Wrong("sent twice", "%+v was delivered again; its item says uncertain=%t", d, item.Uncertain)
		}
	}
}

// checkKeys checks that messages keep their keys, and that a redrive's messages of one key come in the order of its
// items, that of their first capture. An uncertain send may come late.
func (r *run) checkKeys(items map[account.Send]account.Item) {
	type lane struct{ redrive, key string }
	last, seen := map[lane]delivery{}, map[account.Send]bool{}
	for _, d := range r.world.deliveries {
		at, of := d.send(), lane{d.redrive, d.key}
		if d.key != keyOf(d.message) {
			r.Wrong("key", "message %d was delivered with the key %q", d.message, d.key)
		}
		if d.redrive == "" || seen[at] || items[at].Uncertain {
			continue
		}
		seen[at] = true
		r.count("deliveries in order")
		if before, ok := last[of]; ok && (items[before.send()].No > items[at].No || before.message > d.message) {
			r.Wrong("order", "of the key %s in the redrive %s item %d, message %d, was delivered after item %d, message %d",
				d.key, d.redrive, items[at].No, d.message, items[before.send()].No, before.message)
		}
		last[of] = d
	}
}

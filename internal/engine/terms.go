package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// All processes that share a store agree on where ready steps are handed out, in terms: in each term it is the store,
// or a dispatcher with one certain content. A term is a note in the store, and so is the announcement of each process.
// No process hands out anything in a term before all others have announced that they have left the terms before it, and
// have stored the leases that only they knew. A process without an announcement for a while counts as ended, and stops
// handing out before that.

const (
	termPrefix   = "dispatch/term/"
	memberPrefix = "dispatch/node/"
	// dispatchPrefix is the common prefix of both.
	dispatchPrefix = "dispatch/"
	// memberForgotten is when the note of an ended process is deleted.
	memberForgotten = time.Minute
)

// term is the agreement on where steps are handed out.
type term struct {
	No int64 `json:"-"` // from 1; 0: there was none yet
	// There means that the dispatcher hands out, with the Content.
	There bool `json:"there,omitempty"`
	// Content is the dispatcher's own name for the content that it may hand out in this term or a later one; "" if it
	// must be filled first.
	Content string `json:"content,omitempty"`
	// Tainted is the term since which a process without a dispatcher works on the store: contents that were filled
	// before are out of date.
	Tainted int64 `json:"tainted,omitempty"`
	// Ever means that a dispatcher has handed out steps before.
	Ever bool `json:"ever,omitempty"`
}

// member is the announcement of a process.
type member struct {
	// Term is the term in which it hands out steps, or waits to.
	Term  int64        `json:"term"`
	At    task.Instant `json:"at"`
	Until task.Instant `json:"until"` // it counts as ended from then on
	// Native means that it has no dispatcher.
	Native bool `json:"native,omitempty"`
	// Sees is the content that it could hand out; "" for none.
	Sees string `json:"sees,omitempty"`
	// Filled is a content that it has filled, and FilledIn the term at that time.
	Filled   string `json:"filled,omitempty"`
	FilledIn int64  `json:"filled_in,omitempty"`
}

// sameAs reports whether two announcements are equal apart from times.
func (m member) sameAs(o member) bool {
	m.At, m.Until, o.At, o.Until = 0, 0, 0, 0
	return m == o
}

// membership is the present term and the announcements of other processes.
type membership struct {
	term    term
	members []member // those that have not ended
	gone    []string // keys of notes that are no longer needed
}

// readMembership reads the membership from the notes.
func readMembership(ctx context.Context, store NoteStore, own string, now task.Instant) (a membership, err error) {
	notes, err := store.Notes(ctx, dispatchPrefix)
	if err != nil {
		return a, fmt.Errorf("look up who hands out steps: %w", err)
	}
	latest := ""
	for key, text := range notes {
		if number, ok := strings.CutPrefix(key, termPrefix); ok {
			no, err := strconv.ParseInt(number, 10, 64)
			if err != nil || no <= a.term.No {
				a.gone = append(a.gone, key)
				continue
			}
			if latest != "" {
				a.gone = append(a.gone, latest)
			}
			latest, a.term = key, term{}
			if err := json.Unmarshal([]byte(text), &a.term); err != nil {
				return a, fmt.Errorf("read who hands out steps, %s in tasker_meta: %w", key, err)
			}
			a.term.No = no
			continue
		}
		var m member
		err := json.Unmarshal([]byte(text), &m)
		switch {
		case key == own:
		case err != nil || m.Until.Add(memberForgotten) < now:
			a.gone = append(a.gone, key)
		case m.Until > now:
			a.members = append(a.members, m)
		}
	}
	return a, nil
}

// termKey is the key of the note of a term.
func termKey(no int64) string { return fmt.Sprintf("%s%019d", termPrefix, no) }

// nextTerm returns the term that all members must enter: the present term if it still fits. joins means that me was not
// a member until now.
func (a membership) nextTerm(me member, joins bool, hold time.Duration) term {
	want := a.term
	native, there := me.Native, me.Sees
	others := false // without a dispatcher
	for _, m := range a.members {
		native, others = native || m.Native, others || m.Native
		if m.Sees != there {
			there = ""
		}
		if !a.term.There && me.At.Sub(m.At) > hold*2/3 {
			there = "" // that process may have ended, and all would have to wait until that is certain
		}
	}
	if native {
		there, want.Content = "", ""
	}
	if want.There = there != ""; want.There {
		want.Content, want.Ever = there, true
	}
	if me.Native && joins && !others {
		want.Tainted = a.term.No + 1
	}
	if want != a.term || a.term.No == 0 {
		want.No = a.term.No + 1
	}
	return want
}

// valid reports whether a complete content is also up to date.
func (a membership) valid(content string, me member) bool {
	if content == "" {
		return false
	}
	filled := func(m member) bool { return m.Filled == content && m.FilledIn >= a.term.Tainted }
	for _, m := range a.members {
		if filled(m) {
			return true
		}
	}
	return content == a.term.Content || filled(me)
}

// natives reports whether there are processes without a dispatcher.
func (a membership) natives() bool {
	for _, m := range a.members {
		if m.Native {
			return true
		}
	}
	return false
}

// left reports whether all other processes have entered the present term.
func (a membership) left() bool {
	for _, m := range a.members {
		if m.Term != a.term.No {
			return false
		}
	}
	return true
}

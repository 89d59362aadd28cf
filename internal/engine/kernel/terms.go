package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Processes on one store agree in terms where ready steps are handed out: from the store, or from a dispatcher with a
// certain content. The term and each process's announcement are notes. No process hands out steps in a term before
// all others have announced that they left earlier terms, and have stored the leases that only they had. A process
// whose announcement expires counts as ended, and stops handing out before that.

const (
	termPrefix      = "dispatch/term/"
	memberPrefix    = "dispatch/node/"
	dispatchPrefix  = "dispatch/"
	memberForgotten = time.Minute
)

type term struct {
	No int64 `json:"-"` // from 1; 0: none yet
	// There: the dispatcher hands out steps, with Content.
	There bool `json:"there,omitempty"`
	// Content is the dispatcher's name for its content in this or a later term; "" if it must be filled first.
	Content string `json:"content,omitempty"`
	// Tainted is the term since which a process without a dispatcher exists: earlier contents are outdated.
	Tainted int64 `json:"tainted,omitempty"`
	// Ever: a dispatcher has handed out steps before.
	Ever bool `json:"ever,omitempty"`
}

type member struct {
	Term  int64        `json:"term"`
	At    task.Instant `json:"at"`
	Until task.Instant `json:"until"` // when it counts as ended
	// Native: it has no dispatcher.
	Native bool `json:"native,omitempty"`
	// Sees is the content that it could hand out; "" for none.
	Sees string `json:"sees,omitempty"`
	// Filled is a content that it filled, in the term FilledIn.
	Filled   string `json:"filled,omitempty"`
	FilledIn int64  `json:"filled_in,omitempty"`
}

// sameAs ignores times.
func (m member) sameAs(o member) bool {
	m.At, m.Until, o.At, o.Until = 0, 0, 0, 0
	return m == o
}

type membership struct {
	term    term
	members []member // live
	gone    []string // keys of obsolete notes
}

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

func termKey(no int64) string { return fmt.Sprintf("%s%019d", termPrefix, no) }

// nextTerm returns the term that all members must enter. joins: me was not a member before.
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
			there = "" // that process may have ended, and all would wait to be certain
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

// valid reports whether a complete content is current.
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

package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// InboxStore is a store that also keeps dead letters.
type InboxStore interface {
	engine.Database
	Inbox() inbox.Store
}

// RunInbox runs the suite of inbox.Store. open returns a new, empty store, and closes it when t ends.
func RunInbox(t *testing.T, open func(t *testing.T) InboxStore) {
	t.Helper()
	groups := []struct {
		name  string
		cases []inboxCase
	}{
		{"Letters", letterCases()},
		{"LetterLists", letterListCases()},
		{"Groups", groupCases()},
		{"Redrives", redriveCases()},
		{"Outbox", outboxCases()},
		{"Replays", replayCases()},
		{"Sources", sourceCases()},
		{"Rules", ruleCases()},
		{"Events", eventCases()},
		{"Tidy", tidyCases()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					s := open(t)
					c.run(&inboxFixture{fixture: newFixture(t, s), inbox: s.Inbox()})
				})
			}
		})
	}
}

type inboxCase struct {
	name string
	run  func(f *inboxFixture)
}

type inboxFixture struct {
	*fixture
	inbox inbox.Store
}

func (f *inboxFixture) id() task.ID { return f.store.IDs().Take(f.now.Time(), 1) }

// letter returns a letter with every field set, in the source "orders" and group 7; change modifies it.
func (f *inboxFixture) letter(n int, change func(l *deadletter.Letter)) *deadletter.Letter {
	at := f.now.Add(time.Duration(n) * time.Second)
	l := &deadletter.Letter{ID: f.id(), Namespace: "default", Source: "orders", Origin: "orders.in", Format: "raw",
		Position: fmt.Sprint("0:", n), MessageID: fmt.Sprint("m", n), Identity: fmt.Sprint("p", n),
		Canonical: fmt.Sprint("j", n), State: model.LetterOpen, StateAt: at, Group: 7,
		Failure: failure.Report{Type: "ValueError", Code: "E1", Message: fmt.Sprint("bad order ", n), Class: failure.Logic,
			Retryable: true},
		Handler: "bill", Stack: "at bill.go:1", Details: []deadletter.Detail{{Name: "http_status", Value: "503"}},
		Occurrences: 1, Attempts: 3, FirstAt: at, LastAt: at, CapturedAt: at,
		Original: deadletter.Content{Key: []byte("k"), Headers: []deadletter.Header{{Name: "a", Value: []byte("1")}},
			Payload: fmt.Appendf(nil, `{"order":%d}`, n)}, Version: 1}
	if change != nil {
		change(l)
	}
	l.Size = max(l.Size, len(l.Original.Payload))
	return l
}

func (f *inboxFixture) letters(n int, change func(i int, l *deadletter.Letter)) []*deadletter.Letter {
	list := make([]*deadletter.Letter, n)
	for i := range list {
		list[i] = f.letter(i, func(l *deadletter.Letter) {
			if change != nil {
				change(i, l)
			}
		})
	}
	return list
}

func (f *inboxFixture) add(letters ...*deadletter.Letter) {
	f.Helper()
	for i, added := range f.addSome(letters...) {
		if !added {
			f.Fatalf("the letter %d of %d was not stored", i, len(letters))
		}
	}
}

func (f *inboxFixture) addSome(letters ...*deadletter.Letter) (added []bool) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		added, err = f.inbox.AddLetters(ctx, tx, letters)
		return err
	})
	return added
}

func (f *inboxFixture) find(id task.ID) *deadletter.Letter {
	f.Helper()
	l, err := f.inbox.FindLetter(f.Context(), id)
	f.must(err)
	return l
}

func (f *inboxFixture) same(what string, got, want any) {
	f.Helper()
	if d := cmp.Diff(want, got); d != "" {
		f.Errorf("%s (-want +got):\n%s", what, cut(d))
	}
}

func cut(d string) string { return d[:min(len(d), 4000)] }

func (f *inboxFixture) wantCode(err error, code task.Code) {
	f.Helper()
	var e *task.Error
	if !errors.As(err, &e) || e.Code != code {
		f.Errorf("the error is %v, not one with the code %s", err, code)
	}
}

func (f *inboxFixture) pages(filter inbox.LetterFilter) (ids []task.ID, pages int) {
	f.Helper()
	for {
		p, err := f.inbox.ListLetters(f.Context(), filter)
		f.must(err)
		for _, l := range p.Letters {
			ids = append(ids, l.ID)
		}
		if pages++; p.Next.IsZero() {
			return ids, pages
		}
		filter.Below = p.Next
	}
}

func idsOf(letters ...*deadletter.Letter) (ids []task.ID) {
	for i := len(letters) - 1; i >= 0; i-- {
		ids = append(ids, letters[i].ID)
	}
	return ids
}

func noise(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%x,", uint64(i)*0x9e3779b97f4a7c15)
	}
	return b.String()[:n]
}

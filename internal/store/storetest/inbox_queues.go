package storetest

import (
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// queues lists the letters of a source as a queue: the oldest first, of several states, from a place in it.
func queues(f *inboxFixture) {
	waiting := []deadletter.State{deadletter.Open, deadletter.Scheduled}
	letters := f.letters(10, func(i int, l *deadletter.Letter) {
		l.State, l.Parked = waiting[i%2], i == 3
		l.Original.Payload = []byte(strings.Repeat("x", i*300)) // of some the payload is in another table
	})
	for i := 6; i < 10; i++ {
		letters[i].State, letters[i].Reason = deadletter.Discarded, "cleared from dlq:\u00fc: 50 % off"
	}
	letters[9].Reason = "Cleared"
	letters[8].StateAt = f.now + 77
	foreign := f.letter(99, func(l *deadletter.Letter) { l.Source = "elsewhere" })
	f.add(append(letters, foreign)...)
	yes, no := true, false
	for name, c := range map[string]struct {
		f    inbox.QueueFilter
		want []int
	}{
		"All":      {inbox.QueueFilter{States: waiting, Limit: 100}, []int{0, 1, 2, 3, 4, 5}},
		"OneState": {inbox.QueueFilter{States: waiting[:1], Limit: 100}, []int{0, 2, 4}},
		"Page":     {inbox.QueueFilter{States: waiting, Skip: 2, Limit: 3}, []int{2, 3, 4}},
		"Behind":   {inbox.QueueFilter{States: waiting, Skip: 6, Limit: 3}, nil},
		"Above":    {inbox.QueueFilter{States: waiting, Above: letters[3].ID, Limit: 1}, []int{4}},
		"Parked":   {inbox.QueueFilter{States: waiting, Parked: &yes, Limit: 9}, []int{3}},
		"Unparked": {inbox.QueueFilter{States: waiting, Parked: &no, Skip: 2, Limit: 2}, []int{2, 4}},
		"Reason": {inbox.QueueFilter{States: []deadletter.State{deadletter.Discarded},
			Reason: "cleared from dlq:\u00fc: 50 %", Limit: 9}, []int{6, 7, 8}},
		"At": {inbox.QueueFilter{States: []deadletter.State{deadletter.Discarded}, At: f.now + 77, Limit: 9}, []int{8}},
	} {
		c.f.Namespace, c.f.Source = "default", letters[0].Source
		got, err := f.inbox.OldestLetters(f.Context(), c.f)
		f.must(err)
		var want []task.ID
		for _, i := range c.want {
			want = append(want, letters[i].ID)
		}
		f.same(name, len(got), len(want))
		f.same(name, append([]task.ID{}, got...), append([]task.ID{}, want...))
	}
	whole, err := f.inbox.WholeLetters(f.Context(), []task.ID{letters[5].ID, f.id(), letters[1].ID})
	f.must(err)
	f.same("WholeLetters", whole, []*deadletter.Letter{letters[1], letters[5]})
	none, err := f.inbox.WholeLetters(f.Context(), nil)
	f.must(err)
	f.same("WholeLetters of none", len(slices.Concat(none)), 0)
}

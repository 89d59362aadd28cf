package storetest

import (
	"slices"
	"strings"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/compat"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// queues lists a source's letters as a queue: oldest first, of several states, from a place.
func queues(f *inboxFixture) {
	waiting := []model.LetterState{model.LetterOpen, model.LetterScheduled}
	letters := f.letters(10, func(i int, l *deadletter.Letter) {
		l.State, l.Parked = waiting[i%2], i == 3
		l.Original.Payload = []byte(strings.Repeat("x", i*300)) // some payloads are in another table
	})
	for i := 6; i < 10; i++ {
		letters[i].State, letters[i].Reason = model.LetterDiscarded, "cleared from dlq:\u00fc: 50 % off"
	}
	letters[9].Reason = "Cleared"
	letters[8].StateAt = f.now + 77
	foreign := f.letter(99, func(l *deadletter.Letter) { l.Source = "elsewhere" })
	f.add(append(letters, foreign)...)
	yes, no := true, false
	for name, c := range map[string]struct {
		f    compat.QueueFilter
		want []int
	}{
		"All":      {compat.QueueFilter{States: waiting, Limit: 100}, []int{0, 1, 2, 3, 4, 5}},
		"OneState": {compat.QueueFilter{States: waiting[:1], Limit: 100}, []int{0, 2, 4}},
		"Page":     {compat.QueueFilter{States: waiting, Skip: 2, Limit: 3}, []int{2, 3, 4}},
		"Behind":   {compat.QueueFilter{States: waiting, Skip: 6, Limit: 3}, nil},
		"Above":    {compat.QueueFilter{States: waiting, Above: letters[3].ID, Limit: 1}, []int{4}},
		"Parked":   {compat.QueueFilter{States: waiting, Parked: &yes, Limit: 9}, []int{3}},
		"Unparked": {compat.QueueFilter{States: waiting, Parked: &no, Skip: 2, Limit: 2}, []int{2, 4}},
		"Reason": {compat.QueueFilter{States: []model.LetterState{model.LetterDiscarded},
			Reason: "cleared from dlq:\u00fc: 50 %", Limit: 9}, []int{6, 7, 8}},
		"At": {compat.QueueFilter{States: []model.LetterState{model.LetterDiscarded}, At: f.now + 77, Limit: 9}, []int{8}},
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

// topics counts, samples and lists a namespace's letters by origin and type of event.
func topics(f *inboxFixture) {
	letters := f.letters(12, func(i int, l *deadletter.Letter) {
		l.Namespace, l.Origin = "topics", []string{"a", "b", ""}[i%3]
		l.EventType = []string{"pod.failed", ""}[i%2]
		l.MessageID, l.Replays, l.FirstAt, l.LastAt = "event", i, f.now+task.Instant(i), f.now+task.Instant(100+i)
		l.State = model.LetterStates[i%len(model.LetterStates)]
	})
	letters[5].MessageID = "other"
	f.add(letters...)
	a, none := "a", "nothing"
	names, err := f.inbox.Topics(f.Context(), "topics", 10)
	f.must(err)
	f.same("Topics", names, []string{"", "a", "b"})
	names, err = f.inbox.Topics(f.Context(), "topics", 2)
	f.must(err)
	f.same("some Topics", names, []string{"", "a"})
	names, err = f.inbox.Topics(f.Context(), "nowhere", 2)
	f.must(err)
	f.same("Topics of no namespace", len(names), 0)
	names, err = f.inbox.EventTypes(f.Context(), "topics", 10)
	f.must(err)
	f.same("EventTypes", names, []string{"pod.failed"})

	for name, c := range map[string]struct {
		f     compat.TopicFilter
		limit int
		want  []int // letters
	}{
		"All":     {compat.TopicFilter{}, 99, []int{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
		"Origin":  {compat.TopicFilter{Origin: &a}, 99, []int{9, 6, 3, 0}},
		"Type":    {compat.TopicFilter{EventType: "pod.failed"}, 99, []int{10, 8, 6, 4, 2, 0}},
		"Both":    {compat.TopicFilter{Origin: &a, EventType: "pod.failed"}, 99, []int{6, 0}},
		"Unknown": {compat.TopicFilter{Origin: &none}, 99, nil},
		"States": {compat.TopicFilter{States: []model.LetterState{model.LetterStates[0], model.LetterStates[1]}}, 99,
			[]int{11, 10, 6, 5, 1, 0}},
	} {
		c.f.Namespace = "topics"
		got, err := f.inbox.TopicLetters(f.Context(), c.f, 0, c.limit)
		f.must(err)
		f.same(name, len(got), len(c.want))
		want := map[model.LetterState]int{}
		for k, i := range c.want {
			f.same(name, got[k].ID, letters[i].ID)
			f.same(name, got[k].EventType, letters[i].EventType)
			want[letters[i].State]++
		}
		counts, err := f.inbox.CountTopic(f.Context(), c.f, 99)
		f.must(err)
		f.same(name, counts, want)
	}
	page, err := f.inbox.TopicLetters(f.Context(), compat.TopicFilter{Namespace: "topics"}, 3, 2)
	f.must(err)
	f.same("page", []task.ID{page[0].ID, page[1].ID}, []task.ID{letters[8].ID, letters[7].ID})
	counts, err := f.inbox.CountTopic(f.Context(), compat.TopicFilter{Namespace: "topics"}, 2)
	f.must(err)
	f.same("bounded count", counts[model.LetterStates[0]], 2)

	sample, err := f.inbox.SampleTopic(f.Context(), compat.TopicFilter{Namespace: "topics"}, 99)
	f.must(err)
	f.same("sample", []int64{int64(sample.N), sample.Replays, sample.MaxReplay, int64(sample.FirstAt),
		int64(sample.LastAt), int64(sample.NewestFirstAt)}, []int64{12, 66, 11, int64(f.now), int64(f.now) + 111,
		int64(f.now) + 11})
	sample, err = f.inbox.SampleTopic(f.Context(), compat.TopicFilter{Namespace: "topics", Origin: &a}, 1)
	f.must(err)
	f.same("small sample", []int64{int64(sample.N), int64(sample.FirstAt)}, []int64{4, int64(f.now)})
	sample, err = f.inbox.SampleTopic(f.Context(), compat.TopicFilter{Namespace: "topics", Origin: &none}, 1)
	f.must(err)
	f.same("empty sample", sample, compat.TopicSample{})

	ids, err := f.inbox.LettersNamed(f.Context(), "topics", "event", 3)
	f.must(err)
	f.same("named", ids, []task.ID{letters[11].ID, letters[10].ID, letters[9].ID})
	ids, err = f.inbox.LettersNamed(f.Context(), "topics", "other", 3)
	f.must(err)
	f.same("named other", ids, []task.ID{letters[5].ID})
}

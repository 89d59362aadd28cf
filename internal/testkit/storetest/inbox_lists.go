package storetest

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func letterListCases() []inboxCase {
	return []inboxCase{
		{"Pages", letterPages},
		{"Selections", letterSelections},
		{"Payloads", listedPayloads},
		{"TextInMany", textInMany},
		{"Queues", queues},
		{"Topics", topics},
	}
}

func letterPages(f *inboxFixture) {
	letters := f.letters(25, func(i int, l *deadletter.Letter) { l.State = model.LetterStates[i%len(model.LetterStates)] })
	foreign := f.letter(99, func(l *deadletter.Letter) { l.Namespace = "elsewhere" })
	f.add(append(letters, foreign)...)
	for _, limit := range []int{1, 5, 12, 13, 25, 100} {
		ids, pages := f.pages(inbox.LetterFilter{Selection: deadletter.Selection{Namespace: "default"}, Limit: limit})
		f.same(fmt.Sprintf("pages of %d", limit), ids, idsOf(letters...))
		f.same(fmt.Sprintf("number of pages of %d", limit), pages, (len(letters)+limit-1)/limit)
	}
	all, _ := f.pages(inbox.LetterFilter{Limit: 100})
	f.same("letters of every namespace", len(all), 26)
	for _, sel := range []deadletter.Selection{{Source: foreign.Source}, {Origin: foreign.Origin}} {
		all, _ = f.pages(inbox.LetterFilter{Selection: sel, Limit: 100})
		f.same("letters of a source or an origin in every namespace", len(all), 26)
	}
}

func letterSelections(f *inboxFixture) {
	letters := f.letters(12, func(i int, l *deadletter.Letter) {
		l.Group, l.Replays, l.Parked = deadletter.GroupID(1+i%3), i%2, i == 5
	})
	letters[3].Source, letters[4].Origin, letters[6].State = "payments", "pay.in", model.LetterDiscarded
	letters[7].Failure.Type, letters[8].Failure.Message = "KeyError", "100% of _x_ \"failed\""
	letters[9].Original.Payload = []byte("{\"name\":\"\xff\x00\"}")
	letters[10].Original.Headers = []deadletter.Header{{Name: "trace", Value: []byte("a\x00b")}, {Name: "tra"}}
	letters[1].FirstAt, letters[8].FirstAt = letters[1].FirstAt.Add(-time.Hour), letters[8].FirstAt.Add(-time.Hour)
	letters[4].Failure.Retryable = !letters[4].Failure.Retryable
	letters[2].Original.Headers = []deadletter.Header{{Name: "note", Value: []byte("\x00\x01trace\x00\x02a")}}
	f.add(letters...)
	yes := true
	for name, c := range map[string]struct {
		sel  deadletter.Selection
		want []int
	}{
		"Group": {deadletter.Selection{Groups: []deadletter.GroupID{2}}, []int{1, 4, 7, 10}},
		"Groups": {deadletter.Selection{Groups: []deadletter.GroupID{3, 1}, State: model.LetterOpen},
			[]int{0, 2, 3, 5, 8, 9, 11}},
		"Source":           {deadletter.Selection{Source: "payments"}, []int{3}},
		"SourceAndOrigin":  {deadletter.Selection{Source: "payments", Origin: "pay.in"}, nil},
		"Origin":           {deadletter.Selection{Origin: "pay.in"}, []int{4}},
		"State":            {deadletter.Selection{State: model.LetterDiscarded}, []int{6}},
		"UnknownState":     {deadletter.Selection{State: "'; DROP"}, nil},
		"Type":             {deadletter.Selection{Type: "KeyError"}, []int{7}},
		"Wildcards":        {deadletter.Selection{Text: "% of _x_ \""}, []int{8}},
		"TextIsLiteral":    {deadletter.Selection{Text: "bad%order"}, nil},
		"TextInPayload":    {deadletter.Selection{Text: `"order":11}`}, []int{11}},
		"BytesInPayload":   {deadletter.Selection{Text: "\xff\x00"}, []int{9}},
		"HeaderName":       {deadletter.Selection{HeaderName: "trace"}, []int{10}},
		"HeaderPrefix":     {deadletter.Selection{HeaderName: "trac"}, nil},
		"HeaderValue":      {deadletter.Selection{HeaderName: "trace", HeaderValue: "a\x00b"}, []int{10}},
		"OtherHeaderValue": {deadletter.Selection{HeaderName: "trace", HeaderValue: "a"}, nil},
		"Times":            {deadletter.Selection{After: letters[2].LastAt, Before: letters[4].LastAt}, []int{2, 3}},
		"Replays":          {deadletter.Selection{MinReplays: 1}, []int{1, 3, 5, 7, 9, 11}},
		"Replayed":         {deadletter.Selection{Replayed: &yes}, []int{1, 3, 5, 7, 9, 11}},
		"NotReplayed":      {deadletter.Selection{Replayed: new(bool)}, []int{0, 2, 4, 6, 8, 10}},
		"Retryable":        {deadletter.Selection{Retryable: &letters[4].Failure.Retryable}, []int{4}},
		"FirstTimes": {deadletter.Selection{FirstAfter: letters[1].FirstAt, FirstBefore: letters[8].FirstAt + 1},
			[]int{1, 8}},
		"CaseReason": {deadletter.Selection{Reason: task.ReasonMaxRetries}, nil},
		"TaskState":  {deadletter.Selection{TaskState: task.Errored}, nil},
		"Parked":     {deadletter.Selection{Parked: &yes}, []int{5}},
		"IDs": {deadletter.Selection{IDs: []task.ID{letters[1].ID, f.id(), letters[6].ID}, State: model.LetterOpen},
			[]int{1}},
		"Cases":    {deadletter.Selection{Kind: model.KindCase}, nil},
		"Template": {deadletter.Selection{Template: "single"}, nil},
		"Unknown":  {deadletter.Selection{Namespace: "none", Groups: []deadletter.GroupID{1}}, nil},
	} {
		var want []task.ID
		for i := len(c.want) - 1; i >= 0; i-- {
			want = append(want, letters[c.want[i]].ID)
		}
		for _, limit := range []int{2, 100} {
			for _, namespace := range []string{"default", ""} { // all namespaces: the same, from another index
				sel := c.sel
				sel.Namespace = cmp.Or(sel.Namespace, namespace)
				ids, _ := f.pages(inbox.LetterFilter{Selection: sel, Limit: limit})
				f.same(fmt.Sprintf("%s in namespace %q, pages of %d", name, sel.Namespace, limit), ids, want)
			}
		}
	}
}

func listedPayloads(f *inboxFixture) {
	small := f.letter(1, func(l *deadletter.Letter) { l.Original.Payload = []byte(noise(inbox.SmallPayload)) })
	large := f.letter(2, func(l *deadletter.Letter) { l.Original.Payload = []byte(noise(inbox.SmallPayload + 1)) })
	f.add(small, large)
	p, err := f.inbox.ListLetters(f.Context(), inbox.LetterFilter{Selection: deadletter.Selection{Namespace: "default"},
		Limit: 10})
	f.must(err)
	if len(p.Letters) != 2 || p.Letters[0].Original.Payload != nil || p.Letters[0].Size != inbox.SmallPayload+1 ||
		len(p.Letters[1].Original.Payload) != inbox.SmallPayload {
		f.Errorf("a list shows %v", p.Letters)
	}
	for _, l := range p.Letters {
		if l.Stack != "" || l.Original.Headers != nil {
			f.Errorf("a list shows the stack %q and the headers %v", l.Stack, l.Original.Headers)
		}
	}
}

// textInMany searches in more letters than a page examines.
func textInMany(f *inboxFixture) {
	const many = 25_000
	letters := f.letters(many, func(i int, l *deadletter.Letter) { l.Stack, l.Original.Headers = "", nil })
	letters[3].Failure.Message, letters[24_000].Failure.Message = "needle", "a needle too"
	for i := 0; i < many; i += 5000 {
		f.add(letters[i : i+5000]...)
	}
	filter := inbox.LetterFilter{Selection: deadletter.Selection{Namespace: "default", Text: "needle"}, Limit: 10}
	ids, pages := f.pages(filter)
	f.same("found", ids, []task.ID{letters[24_000].ID, letters[3].ID})
	f.same("pages", pages, 2)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		r := f.redrive(model.OpDiscard, filter.Selection)
		if err := f.inbox.AddRedrive(ctx, tx, r); err != nil {
			return err
		}
		n, err := f.inbox.Freeze(ctx, tx, r, 10)
		f.same("frozen", n, 2)
		return err
	})
}

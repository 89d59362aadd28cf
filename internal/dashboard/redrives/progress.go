package redrives

import (
	"html/template"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/chart"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type progress struct {
	Redrive *deadletters.Redrive
	Why     *deadletters.StateExplanation
	Words   string
	Items   []deadletters.Item
	Pager   page.Pager
	Outcome []outcome
	State   string // of the listed items, "" for all
	Chart   template.HTML
	Newer   int // selected now by the same selection, but not included
	Acts    bool
}

type outcome struct {
	Name, URL, Class string
	Count            int
	Here             bool
}

// segment is one outcome in the bar of all items, which is 1,000 wide.
type segment struct {
	Class    string
	X, Width int
}

// Bar draws the outcomes, the finished ones first.
func (o progress) Bar() []segment {
	var out []segment
	at, c := 0, o.Redrive.Counts
	for _, part := range []struct {
		class string
		count int
	}{{"completed", c.Completed}, {"sent", c.Sent}, {"skipped", c.Skipped}, {"returned", c.Returned},
		{"failed", c.Failed}} {
		if part.count > 0 && o.Redrive.Total > 0 {
			width := max(part.count*1000/o.Redrive.Total, 2) // a single failure is seen
			out = append(out, segment{part.class, at, width})
			at += width
		}
	}
	return out
}

func (p *pages) redrive(r *page.Request) (out progress, err error) {
	id, err := r.UUID("redrive")
	if err != nil {
		return out, err
	}
	if out.Redrive, err = p.letters.Redrive(r.Context(), id); err != nil {
		return out, err
	}
	if out.Why, err = p.letters.ExplainRedrive(r.Context(), id); err != nil {
		return out, err
	}
	out.State = r.Query("items")
	items, err := p.letters.RedriveItems(r.Context(), id, deadletters.ItemFilter{State: deadletters.ItemState(out.State),
		Limit: 50, Cursor: r.Query("cursor")})
	if err != nil {
		return out, err
	}
	out.Items = items.Items
	if items.NextCursor != "" {
		out.Pager.Next = r.URL("cursor", items.NextCursor)
	}
	out.Words, out.Acts = words(&out.Redrive.Selection), r.Can(acts...)
	out.outcomes(r)
	out.draw()
	return out, p.newer(r, &out)
}

func (o *progress) outcomes(r *page.Request) {
	c := o.Redrive.Counts
	for _, one := range []outcome{{Name: "pending", Count: c.Pending}, {Name: "sending", Count: c.Sending},
		{Name: "unknown", Count: c.Unknown}, {Name: "sent", Count: c.Sent}, {Name: "completed", Count: c.Completed},
		{Name: "returned", Count: c.Returned}, {Name: "failed", Count: c.Failed}, {Name: "skipped", Count: c.Skipped}} {
		if one.Count == 0 && one.Name != o.State {
			continue
		}
		one.URL, one.Here = r.URL("items", one.Name), o.State == one.Name
		if one.Here {
			one.URL = r.URL("items", "")
		}
		o.Outcome = append(o.Outcome, one)
	}
}

func (o *progress) draw() {
	if len(o.Redrive.Waves) == 0 {
		return
	}
	waves := make([]chart.Wave, len(o.Redrive.Waves))
	for i := range o.Redrive.Waves {
		w := &o.Redrive.Waves[i]
		waves[i] = chart.Wave{Size: int64(sizeOf(w)), Sent: int64(w.Sent + w.Completed + w.Returned + w.Failed),
			Completed: int64(w.Completed), Returned: int64(w.Returned), Failed: int64(w.Failed)}
	}
	if last := &waves[len(waves)-1]; o.Redrive.State == deadletters.RedriveHalted {
		last.Halted, last.Note = true, o.Redrive.HaltReason
	}
	o.Chart = chart.Waves(waves, "waves")
}

func (progress) SizeOf(w deadletters.RedriveWave) string { return page.Number(sizeOf(&w)) }

func sizeOf(w *deadletters.RedriveWave) int {
	return w.Pending + w.Sending + w.Decided()
}

// newer counts the items that the same selection selects now: they came later, or came back.
func (p *pages) newer(r *page.Request, out *progress) error {
	d := out.Redrive
	if !out.Acts || d.EndedAt != nil || d.State == deadletters.RedriveDraft || len(d.Selection.IDs) > 0 {
		return nil
	}
	got, err := p.letters.PreviewRedrive(r.Context(), deadletters.RedriveRequest{Operation: d.Operation,
		Selection: d.Selection})
	switch tasker.ErrorCode(err) {
	case "":
		out.Newer = max(0, got.Total-d.Counts.Pending-d.Counts.Sending)
		return nil
	case tasker.CodeForbidden, tasker.CodeConflict, tasker.CodeInvalid: // the key selects nothing
		return nil
	}
	return err
}

func (p *pages) act(r *page.Request) (page.Done, error) {
	id, err := r.UUID("redrive")
	if err != nil {
		return page.Done{}, err
	}
	action := deadletters.RedriveAction(r.Form("do"))
	_, err = p.letters.ActOnRedrive(r.Context(), id, deadletters.RedriveAct{Action: action,
		Act: deadletters.Act{Actor: r.Name, Reason: r.Form("reason"), IfMatch: r.Form("etag")}})
	say := map[deadletters.RedriveAction]string{"start": "It runs.", "pause": "It pauses after the items under way.",
		"resume": "It goes on.", "cancel": "It is cancelled. What was sent stays sent."}[action]
	return page.Done{To: "/redrives/" + id.String(), Say: say}, err
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/deadletters"
)

// asked is the number of reads of each page.
const asked = 15

func (r *letterRig) pages(ctx context.Context) ([]PageReport, error) {
	groups, err := r.inbox.Groups(ctx, deadletters.GroupFilter{Order: "open", Limit: 100})
	if err != nil {
		return nil, err
	}
	redrives, err := r.inbox.Redrives(ctx, deadletters.RedriveFilter{})
	if err != nil {
		return nil, err
	}
	if len(groups.Groups) == 0 || len(redrives.Redrives) == 0 {
		return nil, errors.New("there is nothing to show")
	}
	group, redrive := groups.Groups[0].GroupID, redrives.Redrives[0].RedriveUUID
	letters, err := r.inbox.Letters(ctx, deadletters.LetterFilter{
		Selection: deadletters.Selection{Groups: []string{group}}, Limit: 50})
	if err != nil {
		return nil, err
	}
	if len(letters.Letters) == 0 {
		return nil, fmt.Errorf("group %s has no letters", group)
	}
	list := func(sel deadletters.Selection) func() error {
		return func() error {
			_, err := r.inbox.Letters(ctx, deadletters.LetterFilter{Selection: sel, Limit: 50})
			return err
		}
	}
	var out []PageReport
	for _, p := range []struct {
		name string
		read func() error
	}{
		{"inbox, 100 groups", func() error {
			_, err := r.inbox.Groups(ctx, deadletters.GroupFilter{OpenOnly: true, Limit: 100})
			return err
		}},
		{"inbox, most open first", func() error {
			_, err := r.inbox.Groups(ctx, deadletters.GroupFilter{OpenOnly: true, Order: "open", Limit: 100})
			return err
		}},
		{"group", func() error { _, err := r.inbox.Group(ctx, group); return err }},
		{"letters", list(deadletters.Selection{})},
		{"letters of a group", list(deadletters.Selection{Groups: []string{group}})},
		{"letters of a source and state", list(deadletters.Selection{Source: letterSource, State: deadletters.LetterOpen})},
		{"letter", func() error { _, err := r.inbox.Letter(ctx, letters.Letters[0].LetterUUID); return err }},
		{"redrive", func() error { _, err := r.inbox.Redrive(ctx, redrive); return err }},
		{"items of a redrive", func() error {
			_, err := r.inbox.RedriveItems(ctx, redrive, deadletters.ItemFilter{})
			return err
		}},
		{"search, frequent text", list(deadletters.Selection{Text: "was refused"})},
		{"search, text of the oldest letter", list(deadletters.Selection{Text: `"order":0,`})},
		{"search, text that is nowhere", list(deadletters.Selection{Text: "nowhere to be found"})},
	} {
		took := make([]time.Duration, 0, asked)
		for range asked {
			t0 := time.Now()
			if err := p.read(); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			took = append(took, time.Since(t0))
		}
		out = append(out, PageReport{Name: p.name, Percentiles: *Summary(took)})
	}
	return out, nil
}

package deadletter

import (
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestExplainLetter(t *testing.T) {
	t.Parallel()
	noon := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	source := &Source{Name: "billing", MaxReplays: 3}
	for name, c := range map[string]struct {
		letter  Letter
		source  *Source
		policy  *Policy
		summary string
		says    []string
	}{
		"NoPolicy": {Letter{State: model.LetterOpen}, source, nil, "waits for an operator", []string{"No policy",
			"redrive start"}},
		"NoSource": {Letter{State: model.LetterOpen, Source: "gone"}, nil, nil, "waits for an operator",
			[]string{"gone has been removed"}},
		"Manual": {Letter{State: model.LetterOpen}, source, &Policy{Strategy: model.Manual}, "waits",
			[]string{"leaves letters to an operator"}},
		"Left": {Letter{State: model.LetterOpen, Reason: "too old"}, source, &Policy{Strategy: model.Fixed}, "waits",
			[]string{"too old"}},
		"Parked": {Letter{State: model.LetterOpen, Parked: true, Replays: 3}, source, nil, "is parked",
			[]string{"3 times", "--include-parked"}},
		"Scheduled": {Letter{State: model.LetterScheduled, Due: noon}, source, nil, "at 2026-03-01T12:00:00Z",
			[]string{"letter discard"}},
		"Redriving": {Letter{State: model.LetterRedriving, StateAt: noon}, source, nil, "Its policy is sending",
			[]string{"under the same number"}},
		"Redriven": {Letter{State: model.LetterRedriven, Redrive: task.ID{1}, StateAt: noon, PurgeAt: noon}, source, nil,
			"The redrive",
			[]string{"opens again", "letter restore"}},
		"Unknown": {Letter{State: model.LetterOpen, Unknown: true}, source, nil, "waits",
			[]string{"may have arrived", "the same number"}},
		"Continues": {Letter{State: model.LetterOpen, Lineage: 2, Link: Link{LinkHeader, task.ID{7}}}, source, nil, "waits",
			[]string{"sent back 2 times", "headers of a send of the letter " + task.ID{7}.String()}},
		"SameID": {Letter{State: model.LetterOpen, Link: Link{LinkID, task.ID{7}}}, source, nil, "waits",
			[]string{"letter " + task.ID{7}.String() + " of the same source has the same message ID"}},
		"Discarded": {Letter{State: model.LetterDiscarded, Reason: "test order"}, source, nil, "test order",
			[]string{"letter restore"}},
		"Facts": {Letter{State: model.LetterOpen, Undecoded: "no JSON", Replays: 1, FailedSends: 2, Edited: &Content{},
			Cut:         true,
			Occurrences: 2,
			Handler:     "charge", Failure: failure.Report{Type: "Timeout", Message: strings.Repeat("x", 1000)},
			LastAt: noon},
			source, nil,
			"waits", []string{"no JSON", "sent back once", "send it 2 times", "An edit", "cut", "died 2 times", "in charge",
				"of Timeout: xxx"}},
		"NoError": {Letter{State: model.LetterOpen}, source, nil, "waits",
			[]string{"an error that its message does not tell"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.letter.Namespace = "default"
			e := ExplainLetter(&c.letter, c.source, c.policy)
			if !strings.Contains(e.Summary, c.summary) || e.Next == "" {
				t.Errorf("summary %q, next %q", e.Summary, e.Next)
			}
			all := strings.Join(e.Why, " ") + e.Next
			for _, word := range c.says {
				if !strings.Contains(all, word) {
					t.Errorf("does not say %q: %q, %q", word, e.Why, e.Next)
				}
			}
			if len(all) > 2000 {
				t.Errorf("%d bytes", len(all))
			}
		})
	}
}

func TestExplainRedrive(t *testing.T) {
	t.Parallel()
	noon := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	for state, want := range map[model.RedriveState][2]string{
		model.RedriveDraft:     {"draft with 7 items", "redrive start"},
		model.RedriveRunning:   {"Wave 2 is under way: 3 of its 4", "observes 1m0s"},
		model.RedriveObserving: {"until 2026-03-01T12:01:00Z", "20 % of a wave came back, or 25 items"},
		model.RedrivePaused:    {"paused", "redrive resume"},
		model.RedriveHalted:    {"half of it came back", "--state returned"},
		model.RedriveDone:      {"has ended", "redrive report"},
		model.RedriveCancelled: {"was cancelled", "redrive report"},
	} {
		r := &Redrive{State: state, StateAt: noon, Total: 7, Wave: 2, WaveSize: 4, WaveSent: 3,
			Halt: "half of it came back",
			Plan: Plan{Observe: time.Minute}, Stop: StopRule{ReturnedShare: 0.2, SamePrint: 25},
			Counts: model.ItemCounts{Sent: 2, Returned: 1, Failed: 1, Skipped: 1, Uncertain: 1}}
		e := ExplainRedrive(r)
		if !strings.Contains(e.Summary, want[0]) || !strings.Contains(e.Next, want[1]) {
			t.Errorf("%s: %q, %q", state, e.Summary, e.Next)
		}
		if state != model.RedriveDraft && !strings.HasPrefix(e.Why[0], "5 of 7 items are decided: 2 sent") ||
			len(e.Why) < 4 {
			t.Errorf("%s: %q", state, e.Why)
		}
	}
	if e := ExplainRedrive(&Redrive{State: model.RedriveRunning,
		Plan: Plan{Observe: NoObservation}}); !strings.Contains(e.Next,
		"at once") {
		t.Errorf("without observation: %q", e.Next)
	}
	if e := ExplainRedrive(&Redrive{State: model.RedriveRunning}); !strings.Contains(e.Next, "at once") ||
		len(e.Why) != 1 {
		t.Errorf("without results: %q, %q", e.Next, e.Why)
	}
	undecided := &Redrive{State: model.RedriveRunning, Stop: StopRule{Failed: 3}, Counts: model.ItemCounts{Unknown: 2}}
	if e := ExplainRedrive(undecided); len(e.Why) != 2 || !strings.HasPrefix(e.Why[1], "2 items may have arrived") ||
		!strings.Contains(undecided.Stop.text(), "3 sends of a wave failed, or have no known outcome") {
		t.Errorf("with outcomes that are not known: %q", e.Why)
	}
	if e := ExplainLetter(&Letter{State: model.LetterDiscarded}, nil, nil); len(e.Why) != 1 {
		t.Errorf("a letter that was never sent back: %q", e.Why)
	}
	if e := ExplainRedrive(&Redrive{State: model.RedriveObserving}); !strings.Contains(e.Next, "it has none") {
		t.Errorf("without a stop rule: %q", e.Next)
	}
}

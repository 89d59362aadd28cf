package deadletter_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestSelectionValidate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for want, s := range map[string]deadletter.Selection{
		"/namespace: is 256":            {Namespace: long},
		"/kind: must be one of letter":  {Kind: "parcel"},
		"/ids: has 1001":                {IDs: make([]task.ID, 1001)},
		"/ids/1: must not be zero":      {IDs: []task.ID{redriveID, {}}},
		"/groups: has 101":              {Groups: make([]deadletter.GroupID, 101)},
		"/groups/1: is not":             {Groups: []deadletter.GroupID{1, 0}},
		"/groups/0: is not":             {Groups: []deadletter.GroupID{-1}},
		"/source: contains":             {Source: "a\x1b[1m"},
		"/origin: is not valid UTF-8":   {Origin: "\xff"},
		"/template: is 256":             {Template: long},
		"/state: must be one of open":   {State: "lost"},
		"/type: is 256":                 {Type: long},
		"/text: is 1001":                {Text: strings.Repeat("x", 1001)},
		"/header_name: is 256":          {HeaderName: long},
		"/header_value: is 1001":        {HeaderName: "a", HeaderValue: strings.Repeat("x", 1001)},
		"/header_value: needs":          {HeaderValue: "x"},
		"/after: must be after 1970":    {After: -1},
		"/before: must be after 1970":   {Before: math.MaxInt64},
		"/before: must be later":        {After: 5, Before: 5},
		"/min_replays: must be from 0":  {MinReplays: -1},
		"/min_replays: must be from 0 ": {MinReplays: 1001},
		"/first_after: must be after":   {FirstAfter: -1},
		"/first_before: must be after":  {FirstBefore: math.MaxInt64},
		"/first_before: must be later":  {FirstAfter: 5, FirstBefore: 5},
		"/replayed: excludes":           {MinReplays: 1, Replayed: new(bool)},
		"/reason: must be one":          {Reason: "boredom"},
		"/task_state: must be one":      {TaskState: "asleep"},
		"/reason: restricts":            {Kind: model.KindLetter, Reason: task.ReasonManual},
		"/task_state: restricts":        {Kind: model.KindLetter, TaskState: task.Errored},
		"/source: restricts letters":    {Kind: model.KindCase, Source: "a"},
		"/origin: restricts letters":    {Kind: model.KindCase, Origin: "a"},
		"/header_name: restricts":       {Kind: model.KindCase, HeaderName: "a"},
		"/template: restricts cases":    {Kind: model.KindLetter, Template: "a"},
	} {
		expect(t, s.Validate(), want)
	}
	good := deadletter.Selection{Namespace: long[1:], Kind: model.KindLetter, IDs: []task.ID{redriveID},
		Groups: []deadletter.GroupID{math.MaxInt64}, Source: "a b", State: model.LetterRedriving, HeaderName: "x",
		Text: strings.Repeat("x", 1000), After: 1, Before: 2, MinReplays: 1000}
	expect(t, good.Validate(), "")
	all := deadletter.Selection{Namespace: "shop"}
	expect(t, all.Validate(), "")
}

func TestPlan(t *testing.T) {
	t.Parallel()
	if got, want := (deadletter.Plan{}).WithDefaults(), (deadletter.Plan{Canary: 10, Factor: 2, Largest: 1000,
		Observe: 30 * time.Second}); got != want {
		t.Errorf("%+v", got)
	}
	if got := (deadletter.Plan{Canary: 5000}).WithDefaults(); got.Largest != 5000 {
		t.Errorf("%+v", got)
	}
	if got := (deadletter.Plan{Largest: 3}).WithDefaults(); got.Canary != 3 {
		t.Errorf("%+v", got)
	}
	for want, change := range map[string]func(p *deadletter.Plan){
		"/canary: must be from 1 to 100000":   func(p *deadletter.Plan) { p.Canary = -1 },
		"/factor: must be from 1 to 100":      func(p *deadletter.Plan) { p.Factor = 0.5 },
		"/factor: must be from 1 ":            func(p *deadletter.Plan) { p.Factor = math.NaN() },
		"/factor: must be ":                   func(p *deadletter.Plan) { p.Factor = math.Inf(1) },
		"/largest: must be from 1 to 100000":  func(p *deadletter.Plan) { p.Largest = 100_001 },
		"/largest: must not be smaller":       func(p *deadletter.Plan) { p.Largest = 9 },
		"/observe: must be from 1ms to 24h":   func(p *deadletter.Plan) { p.Observe = 25 * time.Hour },
		"/observe: must be from 1ms":          func(p *deadletter.Plan) { p.Observe = -2 },
		"/rate: must be from 0.001 to 100000": func(p *deadletter.Plan) { p.Rate = -1 },
		"/rate: must be from 0.001":           func(p *deadletter.Plan) { p.Rate = 2e6 },
		"/rate: must be from ":                func(p *deadletter.Plan) { p.Rate = math.NaN() },
	} {
		p := deadletter.Plan{}.WithDefaults()
		change(&p)
		expect(t, p.Validate(), want)
	}
	expect(t, deadletter.Plan{Canary: 7, Factor: 1, Largest: 7, Observe: deadletter.MaxObserve}.Validate(), "")
	expect(t, deadletter.Plan{Observe: deadletter.NoObservation, Rate: 0.001}.WithDefaults().Validate(), "")
}

func TestStopRule(t *testing.T) {
	t.Parallel()
	if got := (deadletter.StopRule{}).WithDefaults(); got != (deadletter.StopRule{ReturnedShare: 0.2, SamePrint: 25,
		Failed: 10}) {
		t.Errorf("%+v", got)
	}
	if got := (deadletter.StopRule{Failed: 1}).WithDefaults(); got != (deadletter.StopRule{ReturnedShare: 0.2,
		SamePrint: 25, Failed: 1}) {
		t.Errorf("%+v", got)
	}
	expect(t, deadletter.StopRule{ReturnedShare: 1, SamePrint: 100_000, Failed: 100_000}.Validate(), "")
	expect(t, deadletter.StopRule{ReturnedShare: 1.1}.Validate(), "/returned_share: must be from 0.0001 to 1")
	expect(t, deadletter.StopRule{ReturnedShare: math.NaN()}.Validate(), "/returned_share: ")
	expect(t, deadletter.StopRule{SamePrint: -1}.Validate(), "/same_print: must be from 0")
	expect(t, deadletter.StopRule{Failed: 100_001}.Validate(), "/failed: must be from 0")
}

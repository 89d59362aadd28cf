package deadletter_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

func selected() *deadletter.Letter {
	l := letterIn(model.LetterOpen)
	l.Failure = failure.Report{Type: "Timeout", Message: "after 5 s_100%"}
	l.Original.Payload = []byte("head" + strings.Repeat(" ", 1020) + "tail")
	l.Original.Headers = []deadletter.Header{{Name: "a", Value: []byte("1")}, {Name: "b", Value: nil},
		{Name: "a", Value: []byte("2")}}
	l.Replays, l.FirstAt = 2, now
	return l
}

func TestSelectionMatches(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, c := range map[string]struct {
		s    deadletter.Selection
		want bool
	}{
		"All":               {deadletter.Selection{}, true},
		"Namespace":         {deadletter.Selection{Namespace: "shop"}, true},
		"OtherNamespace":    {deadletter.Selection{Namespace: "shop2"}, false},
		"Letters":           {deadletter.Selection{Kind: model.KindLetter}, true},
		"Cases":             {deadletter.Selection{Kind: model.KindCase}, false},
		"Template":          {deadletter.Selection{Template: "mail"}, false},
		"ID":                {deadletter.Selection{IDs: []task.ID{redriveID, task.MakeID(1, 1)}}, true},
		"OtherID":           {deadletter.Selection{IDs: []task.ID{redriveID}}, false},
		"Group":             {deadletter.Selection{Groups: []deadletter.GroupID{2, 3}}, true},
		"OtherGroup":        {deadletter.Selection{Groups: []deadletter.GroupID{2}}, false},
		"Source":            {deadletter.Selection{Source: "mail"}, true},
		"PartOfSource":      {deadletter.Selection{Source: "mai"}, false},
		"Origin":            {deadletter.Selection{Origin: "mails"}, true},
		"OtherOrigin":       {deadletter.Selection{Origin: "Mails"}, false},
		"State":             {deadletter.Selection{State: model.LetterOpen}, true},
		"OtherState":        {deadletter.Selection{State: model.LetterRedriven}, false},
		"Type":              {deadletter.Selection{Type: "Timeout"}, true},
		"OtherType":         {deadletter.Selection{Type: "timeout"}, false},
		"TextOfError":       {deadletter.Selection{Text: "s_100%"}, true},
		"TextOfPayload":     {deadletter.Selection{Text: "head "}, true},
		"TextBehindKiB":     {deadletter.Selection{Text: "tail"}, false},
		"TextInOtherCase":   {deadletter.Selection{Text: "Head"}, false},
		"Pattern":           {deadletter.Selection{Text: "h%d"}, false},
		"Header":            {deadletter.Selection{HeaderName: "b"}, true},
		"HeaderValue":       {deadletter.Selection{HeaderName: "a", HeaderValue: "2"}, true},
		"OtherHeaderValue":  {deadletter.Selection{HeaderName: "b", HeaderValue: "2"}, false},
		"OtherHeader":       {deadletter.Selection{HeaderName: "A"}, false},
		"After":             {deadletter.Selection{After: now}, true},
		"AfterIt":           {deadletter.Selection{After: now + 1}, false},
		"Before":            {deadletter.Selection{Before: now + 1}, true},
		"BeforeIt":          {deadletter.Selection{Before: now}, false},
		"Replays":           {deadletter.Selection{MinReplays: 2}, true},
		"MoreReplays":       {deadletter.Selection{MinReplays: 3}, false},
		"FirstAfter":        {deadletter.Selection{FirstAfter: now}, true},
		"FirstAfterIt":      {deadletter.Selection{FirstAfter: now + 1}, false},
		"FirstBefore":       {deadletter.Selection{FirstBefore: now + 1}, true},
		"FirstBeforeIt":     {deadletter.Selection{FirstBefore: now}, false},
		"Replayed":          {deadletter.Selection{Replayed: &yes}, true},
		"NotReplayed":       {deadletter.Selection{Replayed: &no}, false},
		"Retryable":         {deadletter.Selection{Retryable: &yes}, false},
		"NotRetryable":      {deadletter.Selection{Retryable: &no}, true},
		"CaseReason":        {deadletter.Selection{Reason: task.ReasonManual}, false},
		"TaskState":         {deadletter.Selection{TaskState: task.Errored}, false},
		"Parked":            {deadletter.Selection{Parked: &yes}, false},
		"NotParked":         {deadletter.Selection{Parked: &no}, true},
		"OneIsWrong":        {deadletter.Selection{Source: "mail", Origin: "mails", Type: "x"}, false},
		"TextNeitherOfBoth": {deadletter.Selection{Text: "headafter"}, false},
	} {
		if got := c.s.Matches(selected()); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

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
		if !s.Restricts() && want != "/namespace: is 256" && want != "/header_value: needs" &&
			want != "/min_replays: must be from 0" {
			t.Errorf("%s does not restrict", want)
		}
	}
	good := deadletter.Selection{Namespace: long[1:], Kind: model.KindLetter, IDs: []task.ID{redriveID},
		Groups: []deadletter.GroupID{math.MaxInt64}, Source: "a b", State: model.LetterRedriving, HeaderName: "x",
		Text: strings.Repeat("x", 1000), After: 1, Before: 2, MinReplays: 1000}
	expect(t, good.Validate(), "")
	all := deadletter.Selection{Namespace: "shop"}
	if expect(t, all.Validate(), ""); all.Restricts() {
		t.Error("everything of a namespace is a restriction")
	}
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
	// One bound leaves the defaults of the others.
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

func TestRedriveValidate(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(r *deadletter.Redrive){
		"":                              func(r *deadletter.Redrive) { r.Destination, r.Reason = "mails", "fixed\nit" },
		"/operation: must not be empty": func(r *deadletter.Redrive) { r.Operation = "" },
		"/operation: must be one of":    func(r *deadletter.Redrive) { r.Operation = "burn" },
		"/selection/kind: must be":      func(r *deadletter.Redrive) { r.Selection.Kind = "x" },
		"/destination: contains":        func(r *deadletter.Redrive) { r.Destination = "a\n" },
		"/edit: changes nothing":        func(r *deadletter.Redrive) { r.Edit = &deadletter.Edit{} },
		"/edit/patch: is not valid":     func(r *deadletter.Redrive) { r.Edit = &deadletter.Edit{Patch: []byte("x")} },
		"/plan/canary: must be":         func(r *deadletter.Redrive) { r.Plan.Canary = -1 },
		"/stop/failed: must be":         func(r *deadletter.Redrive) { r.Stop.Failed = -1 },
		"/reason: is 2001":              func(r *deadletter.Redrive) { r.Reason = strings.Repeat("x", 2001) },
		"/edit: is for the operation": func(r *deadletter.Redrive) {
			r.Operation, r.Edit = "discard", &deadletter.Edit{}
		},
		"/destination: is for the operation": func(r *deadletter.Redrive) {
			r.Operation, r.Destination = model.OpRestore, "x"
		},
	} {
		r := redriveIn(model.RedriveDraft)
		change(r)
		expect(t, r.Validate(), want)
	}
}

package letters

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

var (
	letterID = task.ID(uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f80"))
	noon     = time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)
	letter   = &deadletter.Letter{ID: letterID, Namespace: "n", Source: "s", State: model.LetterOpen,
		StateAt: task.At(noon), Group: 0xab, Failure: failure.Report{Type: "T", Message: "m", Class: failure.Logic},
		Stack: "st", Original: deadletter.Content{Key: []byte{0xff}, Payload: []byte(`{"a": 1}`),
			Headers: []deadletter.Header{{Name: "h", Value: []byte("v")}, {Name: "h"}}},
		Edited: &deadletter.Content{Payload: []byte("text")}, Version: 4}
)

func places(t *testing.T, err error) string {
	t.Helper()
	if tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Fatalf("error is %v", err)
	}
	var at []string
	for _, d := range err.(*tasker.Error).Details {
		at = append(at, d.Location)
	}
	return strings.Join(at, " ")
}

func TestLetterShown(t *testing.T) {
	t.Parallel()
	page := shownLetterPage(letters.LetterPage{Letters: []*deadletter.Letter{letter}, Next: letterID})
	if len(page.Letters) != 1 || page.NextCursor != letterID.String() {
		t.Fatalf("%+v", page)
	}
	got, err := json.Marshal(page.Letters[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"letter_uuid":"0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f80"`, `"group_id":"00000000000000ab"`,
		`"state_at":"2026-01-31T12:00:00.123456Z"`, `"class":"logic"`, `"retryable":false`, `"stack_trace":"st"`,
		`"original":{"key_base64":"/w==","headers":[{"name":"h","value":"v"},{"name":"h"}],"payload":{"a":1}}`,
		`"edited":{"payload_base64":"dGV4dA=="}`, `"etag":"4"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the letter lacks %s: %s", want, got)
		}
	}
	for _, absent := range []string{"due_at", "purge_at", "redrive_uuid"} {
		if strings.Contains(string(got), absent) {
			t.Errorf("the letter has %s: %s", absent, got)
		}
	}
}

func TestReportRead(t *testing.T) {
	t.Parallel()
	var r reader
	no, id := false, uuid.UUID(letterID)
	got := r.reports(&deadletters.ReportRequest{Source: "s", IdempotencyKey: "k",
		Reports: []deadletters.Report{
			{MessageID: "m-1", FailedAt: noon, Failure: deadletters.LetterFailure{Message: "x", Retryable: &no}},
			{LetterUUID: &id, Failure: deadletters.LetterFailure{Message: "y"},
				Content: deadletters.Content{PayloadBase64: []byte{0xff}, Payload: json.RawMessage("null")}},
		}})
	if err := r.err(); err != nil {
		t.Fatal(err)
	}
	receipt := shownReceipt(capture.Receipt{Letter: letterID, Group: 0xab, Status: model.Returned})
	if receipt.Status != deadletters.Returned || receipt.GroupID != "00000000000000ab" || receipt.LetterUUID != id {
		t.Errorf("the receipt is %+v", receipt)
	}
	content := deadletter.Identify("", "", deadletter.Content{Payload: []byte{0xff}})
	want := []seam.Report{
		{MessageID: "m-1", FailedAt: task.At(noon), Failure: failure.Report{Message: "x"}},
		{MessageID: "k/1/" + content[1:9], Letter: letterID, Failure: failure.Report{Message: "y", Retryable: true},
			Content: deadletter.Content{Payload: []byte{0xff}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// TestRequestsRefused: a value that cannot be converted is refused with its place, before the inbox is called.
func TestRequestsRefused(t *testing.T) {
	t.Parallel()
	id := uuid.UUID(letterID)
	report := func(r deadletters.Report) func(*backend) error {
		return func(b *backend) error {
			_, err := b.Report(t.Context(), deadletters.ReportRequest{Source: "s", Reports: []deadletters.Report{{}, r}})
			return err
		}
	}
	redrive := func(r deadletters.RedriveRequest) func(*backend) error {
		return func(b *backend) error {
			_, err := b.CreateRedrive(t.Context(), r)
			return err
		}
	}
	letters := func(f deadletters.LetterFilter) func(*backend) error {
		return func(b *backend) error {
			_, err := b.Letters(t.Context(), f)
			return err
		}
	}
	source := func(url string) func(*backend) error {
		return func(b *backend) error {
			_, err := b.SaveSource(t.Context(), deadletters.SourceRequest{Source: deadletters.Source{Name: "s", URL: url}})
			return err
		}
	}
	policy := func(p deadletters.Policy) func(*backend) error {
		return func(b *backend) error {
			_, err := b.SavePolicy(t.Context(), deadletters.PolicyRequest{Policy: p})
			return err
		}
	}
	discard := func(match string) func(*backend) error {
		return func(b *backend) error {
			_, err := b.DiscardLetter(t.Context(), id, deadletters.Act{IfMatch: match})
			return err
		}
	}
	both := deadletters.Content{
		Payload:       json.RawMessage("1"),
		PayloadBase64: []byte("1"),
		Key:           "k",
		KeyBase64:     []byte("k"),
		Headers:       []deadletters.Header{{Name: "", Value: "v", ValueBase64: []byte("v")}, {Name: "a\x1b"}},
	}
	for name, c := range map[string]struct {
		do func(*backend) error
		at string
	}{
		"BothForms": {report(deadletters.Report{Content: both}), "/reports/1/payload_base64 /reports/1/key_base64 " +
			"/reports/1/headers/0/name /reports/1/headers/0/value_base64 /reports/1/headers/1/name"},
		"Control": {report(deadletters.Report{Failure: deadletters.LetterFailure{Type: "a\nb"}}),
			"/reports/1/failure/error_type"},
		"FarFuture": {report(deadletters.Report{FailedAt: noon.AddDate(9000, 0, 0)}), "/reports/1/failed_at"},
		"BeforeEpoch": {letters(deadletters.LetterFilter{Selection: deadletters.Selection{After: time.Unix(-1, 0)}}),
			"query.after"},
		"Cursor": {letters(deadletters.LetterFilter{Cursor: "x"}), "query.cursor"},
		"GroupCase": {
			letters(deadletters.LetterFilter{Selection: deadletters.Selection{Groups: []string{"00000000000000AB"}}}),
			"query.group_id"},
		"NoGroup": {letters(deadletters.LetterFilter{Selection: deadletters.Selection{Groups: []string{"0000000000000000"}}}),
			"query.group_id"},
		"NaN": {redrive(deadletters.RedriveRequest{Plan: deadletters.Plan{ObserveSeconds: math.NaN()}}),
			"/plan/observe_seconds"},
		"Negative": {redrive(deadletters.RedriveRequest{Plan: deadletters.Plan{ObserveSeconds: -1}}),
			"/plan/observe_seconds"},
		"Infinite":    {policy(deadletters.Policy{MaxAgeSeconds: math.Inf(1)}), "/max_age_seconds"},
		"TimeOfDay":   {policy(deadletters.Policy{TimeOfDay: "24:00"}), "/time_of_day"},
		"ShortTime":   {policy(deadletters.Policy{TimeOfDay: "3:30"}), "/time_of_day"},
		"Hidden":      {source("amqp://a:xxxxx@host"), "/url"},
		"HiddenQuery": {source("kafka://host?sasl_password=xxxxx"), "/url"},
		"TwoETags":    {discard(`"1","2"`), "/if_match"},
		"BrokenETag":  {discard(`"1`), "/if_match"},
		"LongPrecond": {discard(strings.Repeat("a", 2000)), "/if_match"},
		"ClearAndEdit": {func(b *backend) error {
			_, err := b.EditLetter(t.Context(), id, deadletters.LetterEdit{Clear: true, Edit: deadletters.Edit{Key: "k"}})
			return err
		}, "/clear"},
		"ItemCursor": {func(b *backend) error {
			_, err := b.RedriveItems(t.Context(), id, deadletters.ItemFilter{Cursor: "-1"})
			return err
		}, "query.cursor"},
	} {
		if got := places(t, c.do(&backend{inbox: &inbox.Inbox{}})); got != c.at {
			t.Errorf("%s: refused at %q, want %q", name, got, c.at)
		}
	}
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	for match, want := range map[string]int64{"": 0, "*": 0, `"4"`: 4, `W/"4"`: 4, "4": 4, "other-1": -1, "0": -1} {
		by, err := actor(deadletters.Act{IfMatch: match, Actor: "ann", Reason: "r"})
		if err != nil {
			t.Fatal(err)
		}
		if (by != inbox.By{Actor: "ann", Reason: "r", Version: want}) {
			t.Errorf("If-Match %s is read as %+v", match, by)
		}
	}
}

func TestErrorsKeepTheirCodes(t *testing.T) {
	t.Parallel()
	if at := places(t, refusal.ToError(&task.Error{Code: task.Invalid, Message: "bad", Hint: "h",
		Problems: []task.Problem{{Location: "/reports/3/origin", Message: "is long"}}})); at != "/reports/3/origin" {
		t.Errorf("the problem is at %s", at)
	}
	err := refusal.ToError(&task.Error{Code: task.Exhausted, Message: "full", RetryAfter: time.Minute})
	if e := err.(*tasker.Error); e.Code != tasker.CodeExhausted || e.RetryAfter != time.Minute {
		t.Errorf("error is %+v", e)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                   "",
		"redis://host:6379/0":                "redis://host:6379/0",
		"amqp://ann:geheim@host/v":           "amqp://ann:xxxxx@host/v",
		"redis://:geheim@host":               "redis://:xxxxx@host",
		"kafka://h?sasl_password=geheim&a=1": "kafka://h?a=1&sasl_password=xxxxx",
		"kafka://h?apiKey=geheim":            "kafka://h?apiKey=xxxxx",
		"kafka://h?%zz=geheim":               "kafka://h?xxxxx",
		"amqp://ann:geheim@ho st":            "xxxxx",
	} {
		if got := shownSource(&deadletter.Source{Name: "s", URL: url, Version: 1}); got.URL != want {
			t.Errorf("%s is shown as %s", url, got.URL)
		}
		if got := new(reader).source(&deadletters.Source{URL: url}); got.URL != url {
			t.Errorf("%s is stored as %s", url, got.URL)
		}
	}
}

// TestUsersOfURLsAreHidden: rows from before the refusal of users and passwords in URLs do not show them.
func TestUsersOfURLsAreHidden(t *testing.T) {
	t.Parallel()
	const secret, shown = "http://ann:hunter2@h/a/*", "http://xxxxx@h/a/*"
	from := &deadletter.Source{Driver: "http", Targets: []string{"orders", secret}}
	if got := shownSource(from); strings.Join(got.Targets, " ") != "orders "+shown || from.Targets[1] != secret {
		t.Errorf("the source is shown with %q", got.Targets)
	}
	if got := shownLetter(&deadletter.Letter{Origin: secret}); got.Origin != shown {
		t.Errorf("a letter is shown as %+v", got)
	}
	got := shownRedrive(&deadletter.Redrive{Destination: secret, Selection: deadletter.Selection{Origin: secret}})
	if got.Destination != shown || got.Selection.Origin != shown {
		t.Errorf("a redrive is shown as %+v", got)
	}
}

func TestRedriveRoundTrip(t *testing.T) {
	t.Parallel()
	parked := true
	req := deadletters.RedriveRequest{Operation: "redrive", Selection: deadletters.Selection{
		Namespace:   "n",
		Kind:        "case",
		IDs:         []uuid.UUID{uuid.UUID(letterID)},
		Groups:      []string{"00000000000000ab"},
		Source:      "s",
		Origin:      "o",
		Template:    "t",
		State:       "open",
		ErrorType:   "T",
		Text:        "x",
		HeaderName:  "h",
		HeaderValue: "v",
		After:       noon,
		Before:      noon.Add(1e9),
		FirstAfter:  noon.Add(-1e9),
		FirstBefore: noon,
		MinReplays:  2,
		Replayed:    &parked,
		Retryable:   new(bool),
		Parked:      &parked,
		CaseReason:  tasker.ReasonManual,
		TaskState:   tasker.TaskError,
	}, Plan: deadletters.Plan{Canary: 1, Factor: 2, Largest: 3, ObserveSeconds: 0.5, Rate: 4, Limit: 5,
		KeepAttempts: true, Priority: "high"},
		Edit: &deadletters.Edit{Patch: json.RawMessage(`{"a":1}`), DropHeaders: []string{"d"}, Key: "k",
			SetHeaders: []deadletters.Header{{Name: "s", Value: "v"}}}}
	var r reader
	read := r.redrive(&req)
	if err := r.err(); err != nil {
		t.Fatal(err)
	}
	got := shownRedrive(&deadletter.Redrive{Selection: read.Selection, Plan: read.Plan, Edit: read.Edit})
	if diff := cmp.Diff(req.Selection, got.Selection); diff != "" {
		t.Errorf("selection (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(req.Plan, got.Plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(req.Edit, got.Edit); diff != "" {
		t.Errorf("edit (-want +got):\n%s", diff)
	}
	unobserved := shownPlan(deadletter.Plan{Canary: 1, Observe: deadletter.NoObservation})
	if unobserved != (deadletters.Plan{Canary: 1}) {
		t.Errorf("a plan without observation is shown as %+v", unobserved)
	}
}

func TestItemsPages(t *testing.T) {
	t.Parallel()
	var r reader
	if above := r.number("5"); above != 5 || r.number("") != 0 || r.err() != nil {
		t.Errorf("the cursor is read as %d: %v", above, r.err())
	}
	if defaultItemsPage != 100 {
		t.Errorf("a page has %d items", defaultItemsPage)
	}
	items := []deadletter.Item{{No: 6}, {No: 7}}
	if page := itemPage(items, 2); page.NextCursor != "7" || len(page.Items) != 2 {
		t.Errorf("a full page is %+v", page)
	}
	if page := itemPage(items, defaultItemsPage); page.NextCursor != "" {
		t.Errorf("the last page has the cursor %q", page.NextCursor)
	}
}

package httpapi_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/remote"
)

func TestLetterFilters(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	const about = "namespace=n%2F1&source=s&origin=o&state=open&error_type=T&text=50%25&header_name=h&header_value=v" +
		"&after=2026-01-31T12:00:00.123456Z&min_replays=2&parked=true&group_id=00000000000000ab,00000000000000ac"
	parked := true
	want := deadletters.LetterFilter{Selection: deadletters.Selection{Kind: deadletters.KindLetter, Namespace: "n/1",
		Source: "s", Origin: "o", State: "open", ErrorType: "T", Text: "50%", HeaderName: "h", HeaderValue: "v",
		After: noon, MinReplays: 2, Parked: &parked, Groups: []string{groupID, "00000000000000ac"},
		IDs: []uuid.UUID{letterID}}}
	a.do(t, "GET", "/v1/dead-letters/export?"+about+"&letter_uuid="+letterID.String(), "")
	if diff := cmp.Diff(want, last[deadletters.LetterFilter](f)); diff != "" {
		t.Errorf("export (-want +got):\n%s", diff)
	}
	want.Limit, want.Cursor = 50, "c"
	a.do(t, "GET", "/v1/dead-letters?cursor=c&"+about+"&letter_uuid="+letterID.String(), "")
	if diff := cmp.Diff(want, last[deadletters.LetterFilter](f)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestInboxRefused(t *testing.T) {
	t.Parallel()
	letter, group := "/v1/dead-letters/"+letterID.String(), "/v1/groups/"+groupID
	report := func(fields string) string {
		return `{"source":"s","reports":[{"failure":{"message":"m"}` + fields + `}]}`
	}
	many := strings.Repeat("letter_uuid="+letterID.String()+"&", 101)
	for name, c := range map[string]struct{ method, target, body, at string }{
		"NoSource":         {"POST", "/v1/dead-letters", `{"reports":[{"failure":{"message":"m"}}]}`, "/source"},
		"NoReports":        {"POST", "/v1/dead-letters", `{"source":"s","reports":[]}`, "/reports"},
		"NoFailure":        {"POST", "/v1/dead-letters", `{"source":"s","reports":[{}]}`, "/reports/0/failure"},
		"NoMessage":        {"POST", "/v1/dead-letters", `{"source":"s","reports":[{"failure":{}}]}`, "/reports/0/failure/message"},
		"LongMessageID":    {"POST", "/v1/dead-letters", report(`,"message_id":"` + strings.Repeat("x", 256) + `"`), "/reports/0/message_id"},
		"Class":            {"POST", "/v1/dead-letters", `{"source":"s","reports":[{"failure":{"message":"m","class":"odd"}}]}`, "/reports/0/failure/class"},
		"Attempts":         {"POST", "/v1/dead-letters", report(`,"attempts":-1`), "/reports/0/attempts"},
		"Unknown":          {"POST", "/v1/dead-letters", report(`,"body":1`), "/reports/0/body"},
		"Base64":           {"POST", "/v1/dead-letters", report(`,"payload_base64":"%"`), "/reports/0/payload_base64"},
		"HeaderName":       {"POST", "/v1/dead-letters", report(`,"headers":[{"value":"x"}]`), "/reports/0/headers/0/name"},
		"TooManyHeaders":   {"POST", "/v1/dead-letters", report(`,"headers":[` + strings.Repeat(`{"name":"a"},`, 256) + `{"name":"a"}]`), "/reports/0/headers"},
		"Limit":            {"GET", "/v1/dead-letters?limit=1001", "", "query.limit"},
		"State":            {"GET", "/v1/dead-letters?state=dead", "", "query.state"},
		"Parked":           {"GET", "/v1/dead-letters?parked=", "", "query.parked"},
		"HeaderValue":      {"GET", "/v1/dead-letters?header_value=v", "", "query.header_value"},
		"LetterFilter":     {"GET", "/v1/dead-letters?letter_uuid=abc", "", "query.letter_uuid"},
		"ManyLetters":      {"GET", "/v1/dead-letters?" + many, "", ""},
		"Control":          {"GET", "/v1/dead-letters?text=%1b%5b2J", "", "query.text"},
		"ExportLimit":      {"GET", "/v1/dead-letters/export?limit=10", "", "query.limit"},
		"Letter":           {"GET", "/v1/dead-letters/abc", "", "path.letter_uuid"},
		"EditUnknown":      {"PATCH", letter, `{"payload":{}}`, "/payload"},
		"EditNothing":      {"PATCH", letter, "", ""},
		"DiscardUnknown":   {"POST", letter + "/discard", `{"why":"x"}`, "/why"},
		"GroupOrder":       {"GET", "/v1/groups?order=size", "", "query.order"},
		"GroupState":       {"GET", "/v1/groups?state=closed", "", "query.state"},
		"Group":            {"GET", "/v1/groups/ab", "", "path.group_id"},
		"GroupWord":        {"PATCH", group, `{"state":"closed"}`, "/state"},
		"GroupNote":        {"PATCH", group, `{"note":"` + strings.Repeat("x", 16385) + `"}`, "/note"},
		"IgnoreCount":      {"PATCH", group, `{"state":"ignored","ignore":{"count":-1}}`, "/ignore/count"},
		"MergeNone":        {"POST", group + "/merge", `{"groups":[]}`, "/groups"},
		"Operation":        {"POST", "/v1/redrives", `{"operation":"purge","selection":{}}`, "/operation"},
		"NoSelection":      {"POST", "/v1/redrives", `{"operation":"redrive"}`, "/selection"},
		"Kind":             {"POST", "/v1/redrives/preview", `{"operation":"redrive","selection":{"kind":"task"}}`, "/selection/kind"},
		"Share":            {"POST", "/v1/redrives", `{"operation":"redrive","selection":{},"stop":{"returned_share":1.5}}`, "/stop/returned_share"},
		"Observe":          {"POST", "/v1/redrives", `{"operation":"redrive","selection":{},"plan":{"observe_seconds":1e9}}`, "/plan/observe_seconds"},
		"RedriveState":     {"GET", "/v1/redrives?state=on", "", "query.state"},
		"Action":           {"PATCH", "/v1/redrives/" + redriveID.String(), `{"action":"halt"}`, "/action"},
		"ItemState":        {"GET", "/v1/redrives/" + redriveID.String() + "/items?state=lost", "", "query.state"},
		"SourceName":       {"POST", "/v1/sources", `{"name":"","driver":"http"}`, "/name"},
		"SourceTargets":    {"POST", "/v1/sources", `{"name":"a","driver":"http","max_open":-1}`, "/max_open"},
		"Strategy":         {"POST", "/v1/policies", `{"source":"a","strategy":"often"}`, "/strategy"},
		"Jitter":           {"POST", "/v1/policies", `{"source":"a","strategy":"fixed","jitter":1.1}`, "/jitter"},
		"PolicyNoSource":   {"DELETE", "/v1/policies", "", "query.source"},
		"RuleNoWhen":       {"POST", "/v1/rules", `{"name":"a"}`, "/when"},
		"RulePosition":     {"POST", "/v1/rules", `{"name":"a","when":"true","position":1000001}`, "/position"},
		"RuleKeys":         {"POST", "/v1/rules", `{"name":"a","when":"true","group_by":["1","2","3","4","5","6","7","8","9"]}`, "/group_by"},
		"RuleTestClass":    {"POST", "/v1/rules/test", `{"rule":{"name":"a","when":"true"},"failure":{"class":"odd"}}`, "/failure/class"},
		"TwoPreconditions": {"PATCH", group, `{"owner":"ann","if_match":"1"}`, "/if_match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			var headers []string
			if name == "TwoPreconditions" {
				headers = []string{`If-Match: "2"`}
			}
			got := newAPI(t, f, httpapi.Options{}).do(t, c.method, c.target, c.body, headers...)
			p := got.problem(t)
			if got.status != 400 && got.status != 413 || at(p) != c.at || f.called() != 0 {
				t.Errorf("answer is %d at %q, asked %d times: %s", got.status, at(p), f.called(), got.body)
			}
		})
	}
}

func TestReportIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	const body = `{"source":"s","reports":[{"failure":{"message":"m"}}]}`
	a.do(t, "POST", "/v1/dead-letters", body, "Idempotency-Key: night-1")
	if got := last[deadletters.ReportRequest](f).IdempotencyKey; got != "night-1" {
		t.Errorf("the key is %q", got)
	}
	both := strings.Replace(body, "{", `{"idempotency_key":"night-2",`, 1)
	if got := a.do(t, "POST", "/v1/dead-letters", both, "Idempotency-Key: night-1"); got.status != 400 {
		t.Errorf("two keys are answered %d", got.status)
	}
}

func TestInboxPreconditions(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	letter := "/v1/dead-letters/" + letterID.String()
	if got := a.do(t, "GET", letter, ""); got.header.Get("ETag") != `"4"` {
		t.Errorf("ETag is %q", got.header.Get("ETag"))
	}
	a.do(t, "POST", letter+"/discard", "", `If-Match: "4"`)
	if got := last[deadletters.Act](f).IfMatch; got != `"4"` {
		t.Errorf("if_match is %q", got)
	}
	a.do(t, "DELETE", "/v1/sources/default/billing?if_match=7&actor=ann", "")
	if diff := cmp.Diff(deadletters.Act{Actor: "ann", IfMatch: "7"}, last[deadletters.Act](f)); diff != "" {
		t.Errorf("removal (-want +got):\n%s", diff)
	}
}

func TestOperationsNeedTheirPermission(t *testing.T) {
	t.Parallel()
	const letters, cases = `"selection":{"kind":"letter"}`, `"selection":{"kind":"case"}`
	const edit = `,"edit":{"patch":{"a":1}}`
	for name, c := range map[string]struct {
		permission access.Permission
		body       string
		may        bool
	}{
		"RedriveMayRedrive":       {access.DeadLettersRedrive, `{"operation":"redrive","selection":{}}`, true},
		"RedriveMayNotDiscard":    {access.DeadLettersRedrive, `{"operation":"discard",` + letters + `}`, false},
		"RedriveMayNotEdit":       {access.DeadLettersRedrive, `{"operation":"redrive",` + letters + edit + `}`, false},
		"DiscardMayDiscard":       {access.DeadLettersDiscard, `{"operation":"discard",` + letters + `}`, true},
		"DiscardMayRestore":       {access.DeadLettersDiscard, `{"operation":"restore",` + letters + `}`, true},
		"DiscardMayNotRedrive":    {access.DeadLettersDiscard, `{"operation":"redrive",` + letters + `}`, false},
		"OperateMayRedriveCases":  {access.Operate, `{"operation":"redrive",` + cases + edit + `}`, true},
		"OperateMayNotRedriveAll": {access.Operate, `{"operation":"redrive","selection":{}}`, false},
		"OperateMayNotDiscard":    {access.Operate, `{"operation":"discard",` + letters + `}`, false},
		"AdminMayAll":             {access.Admin, `{"operation":"redrive","selection":{}` + edit + `}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ring, key := ringOf(t, "k", string(c.permission))
			f := &fake{}
			a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
			for _, path := range []string{"/v1/redrives/preview", "/v1/redrives"} {
				got := a.do(t, "POST", path, c.body, key)
				if may := got.status < 300; may != c.may || !c.may && got.status != 403 {
					t.Errorf("%s is answered %d %s", path, got.status, got.body)
				}
			}
			if !c.may && f.called() > 0 {
				t.Error("the backend was asked")
			}
		})
	}
}

func TestReadersOfGroupsSeeNoPayload(t *testing.T) {
	t.Parallel()
	for permission, sees := range map[string]bool{"read": false, "dead-letters:read": true} {
		ring, key := ringOf(t, "k", permission)
		a := newAPI(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
		got := a.do(t, "GET", "/v1/groups/"+groupID, "", key)
		if shows := strings.Contains(got.body, `"sample"`); got.status != 200 || shows != sees {
			t.Errorf("%s sees %d %s", permission, got.status, got.body)
		}
	}
	ring, key := ringOf(t, "k", "dead-letters:redrive")
	a := newAPI(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	got := a.do(t, "POST", "/v1/redrives/preview", `{"operation":"redrive","selection":{}}`, key)
	if got.status != 200 || strings.Contains(got.body, `"changes"`) {
		t.Errorf("a preview without the permission to read is %d %s", got.status, got.body)
	}
}

func TestInboxNamespaces(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "admin", "video")
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	a.do(t, "GET", "/v1/groups", "", key)
	if got := last[deadletters.GroupFilter](f).Namespace; got != "video" {
		t.Errorf("groups of %q", got)
	}
	a.do(t, "POST", "/v1/redrives", `{"operation":"redrive","selection":{}}`, key)
	if got := last[deadletters.RedriveRequest](f).Selection.Namespace; got != "video" {
		t.Errorf("a redrive of %q", got)
	}
	before := f.called()
	for at, r := range map[string][3]string{
		"query.namespace":      {"GET", "/v1/dead-letters?namespace=default"},
		"/namespace":           {"POST", "/v1/dead-letters", `{"source":"s","reports":[{"failure":{"message":"m"}}]}`},
		"/selection/namespace": {"POST", "/v1/redrives", `{"operation":"redrive","selection":{"namespace":"default"}}`},
	} {
		got := a.do(t, r[0], r[1], r[2], key)
		if p := got.problem(t); got.status != 403 || p.Code != tasker.CodeForbidden || at != p.Errors[0].Location {
			t.Errorf("%s %s is answered %d %s", r[0], r[1], got.status, got.body)
		}
	}
	for _, r := range [][2]string{{"/v1/sources", `{"name":"a","driver":"http"}`},
		{"/v1/policies", `{"source":"a","strategy":"manual"}`}, {"/v1/rules", `{"name":"a","when":"true"}`},
		{"/v1/rules/test", `{"rule":{"name":"a","when":"true"},"failure":{}}`}} {
		if got := a.do(t, "POST", r[0], r[1], key); got.status != 403 {
			t.Errorf("%s for the default namespace is answered %d", r[0], got.status)
		}
	}
	if f.called() != before {
		t.Error("the backend was asked")
	}
}

func TestWithoutInbox(t *testing.T) {
	t.Parallel()
	h := httpapi.New(&fake{}, httpapi.Options{})
	for _, path := range []string{"/v1/groups", "/v1/dead-letters", "/v1/dead-letters/export", "/v1/redrives",
		"/v1/sources", "/v1/policies", "/v1/rules"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != 503 || !strings.Contains(w.Body.String(), "SQL store") {
			t.Errorf("%s is answered %d %s", path, w.Code, w.Body)
		}
	}
}

func TestExportThatFailsIsCut(t *testing.T) {
	t.Parallel()
	f := &fake{item: tasker.Errorf(tasker.CodeUnavailable, "the store is gone")}
	server := httptest.NewServer(httpapi.New(f, httpapi.Options{DeadLetters: fakeInbox{f}}))
	defer server.Close()
	client, err := remote.Dial(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	read := 0
	for letter, lerr := range deadletters.Of(client).ExportLetters(t.Context(), deadletters.LetterFilter{}) {
		if err = lerr; err == nil && letter.LetterUUID == letterID {
			read++
		}
	}
	if tasker.ErrorCode(err) != tasker.CodeUnavailable || read > 1 {
		t.Errorf("%d letters, then %v", read, err)
	}
}

type slowExports struct {
	fakeInbox
	begun, release chan struct{}
}

func (b slowExports) ExportLetters(context.Context, deadletters.LetterFilter) iter.Seq2[*deadletters.Letter, error] {
	return func(func(*deadletters.Letter, error) bool) {
		b.begun <- struct{}{}
		<-b.release
	}
}

func TestExportsAreBounded(t *testing.T) {
	t.Parallel()
	b := slowExports{fakeInbox{&fake{}}, make(chan struct{}), make(chan struct{})}
	h := httpapi.New(&fake{}, httpapi.Options{DeadLetters: b})
	export := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/dead-letters/export", nil))
		return w.Code
	}
	ended := make(chan int)
	for range 4 {
		go func() { ended <- export() }()
		<-b.begun
	}
	if code := export(); code != http.StatusTooManyRequests {
		t.Errorf("the fifth export is answered %d", code)
	}
	close(b.release)
	for range 4 {
		if code := <-ended; code != http.StatusOK {
			t.Errorf("an export is answered %d", code)
		}
	}
	go func() { ended <- export() }()
	<-b.begun
	if code := <-ended; code != http.StatusOK {
		t.Errorf("an export after them is answered %d", code)
	}
}

package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/model/access"
)

// TestSources: a source shows its state, is tested, paused and continued, and gets a policy.
func TestSources(t *testing.T) {
	t.Parallel()
	const bad = `a/b"'><script>alert(1)</script>`
	s := serve(t)
	v := s.viewer()
	v.page("/sources?first=1", "There is no source") // another address: looks are shared for a second
	s.report(dead("card expired", `{}`))
	if _, err := s.engine.DeadLetters().SaveSource(t.Context(), deadletters.SourceRequest{
		Source: deadletters.Source{Name: bad, Driver: "http"}}); err != nil {
		t.Fatal(err)
	}
	if got := v.page("/sources", "billing"); strings.Contains(got, "<script>alert") {
		t.Errorf("a name is no text:\n%s", main(got))
	}
	got := v.page("/sources/default/a%2Fb%22%27%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E", "Settings")
	if strings.Contains(got, "<script>alert") {
		t.Errorf("a name is no text:\n%s", main(got))
	}
	const at = "/sources/default/billing"
	v.page(at, "card expired", "Leaves every letter to an operator.", "Pause…")
	if got := v.get("/sources/default/nobody"); got.status != http.StatusNotFound {
		t.Errorf("an unknown source = %d", got.status)
	}
	if got := v.post(at+"/pause", "do", "pause", "etag", "stale"); got.status == http.StatusOK {
		t.Errorf("a pause of another state = %d", got.status)
	}
	v.page(at, "Pause…")
	v.post(at+"/pause", "do", "pause", "reason", "upgrade")
	v.page(at, "Continue</button>")
	v.post(at+"/pause", "do", "continue")
	v.page(at, "Pause…")
	v.post(at+"/policy", "strategy", "fixed", "base_seconds", "90", "max_retries", "4")
	v.page(at, "Sends each letter back 1 min 30 s after its failure.", "after 4 replays is discarded")
	if got := v.post(at+"/policy", "strategy", "fixed", "base_seconds", "soon"); got.status != http.StatusBadRequest {
		t.Errorf("a wait that is no number = %d", got.status)
	}
}

// TestAudit: acts are listed with their objects and filtered, and the chain is checked.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	v.page("/audit?first=1", "Nobody has done anything yet.")
	letter := s.report(dead("card expired", `{}`))[0].LetterUUID
	if _, err := s.engine.DeadLetters().DiscardLetter(t.Context(), letter, deadletters.Act{Actor: "ann",
		Reason: `<script>alert(1)</script>`}); err != nil {
		t.Fatal(err)
	}
	got := v.page("/audit", "discard letter", "/letters/"+letter.String(), "/sources/default/billing", "ann")
	if strings.Contains(got, "<script>alert") {
		t.Errorf("a reason is no text:\n%s", main(got))
	}
	if got := v.page("/audit?kind=discard_letter"); strings.Contains(main(got), "add source") {
		t.Errorf("the filter does not hold:\n%s", main(got))
	}
	v.page("/audit?actor=nobody", "No act is like this.")
	for _, path := range []string{"/audit?task=x", "/audit?cursor=x"} {
		if got := v.get(path); got.status != http.StatusBadRequest {
			t.Errorf("GET %s = %d", path, got.status)
		}
	}
	if got := v.post("/audit/verify"); got.status != http.StatusOK || !strings.Contains(got.body, "intact") {
		t.Errorf("the check = %d\n%s", got.status, got.body)
	}
	if got := v.postWith("", "/audit/verify"); got.status == http.StatusOK {
		t.Errorf("a check without the token = %d", got.status)
	}
}

// TestRedrive: the preview is that of the form; a draft is started and cancelled in the state that was seen.
func TestRedrive(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	group := s.report(dead("card expired", `{"n": 1}`), dead("card expired", `{"n": 2}`))[0].GroupID
	got := v.post("/redrives/preview", "operation", "redrive", "groups", group, "limit", "1", "canary", "7")
	if got.status != http.StatusOK || !strings.Contains(got.body, "Sends 1 item back") ||
		!strings.Contains(got.body, "The first wave has 7") {
		t.Errorf("the preview = %d\n%s", got.status, got.body)
	}
	if got := v.post("/redrives/preview", "operation", "redrive", "groups", group, "canary", "x"); got.status !=
		http.StatusBadRequest {
		t.Errorf("a preview of no number = %d", got.status)
	}
	made := v.post("/redrives", "operation", "redrive", "groups", group)
	if made.status != http.StatusOK || !strings.Contains(made.body, "2 selected at") {
		t.Fatalf("create = %d\n%s", made.status, main(made.body))
	}
	if got := v.post(made.url+"/act", "do", "start", "etag", "stale"); got.status == http.StatusOK {
		t.Errorf("a start of another state = %d", got.status)
	}
	v.page(made.url, "draft")
	v.post(made.url+"/act", "do", "cancel", "reason", "not now")
	v.page(made.url, "cancelled")
	v.page("/redrives", strings.TrimPrefix(made.url, "/redrives/"))
}

// TestOperators: a reader sees no acts, and is refused them.
func TestOperators(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Key{Name: "reader", Permissions: []string{"read"}},
		access.Key{Name: "letters", Permissions: []string{"dead-letters:read"}})
	s.report(dead("card expired", `{}`))
	v := s.as("reader")
	got := main(v.page("/sources/default/billing", "Settings"))
	for _, hidden := range []string{"Pause…", "Test</button>", "card expired", "Policy of an origin"} {
		if strings.Contains(got, hidden) {
			t.Errorf("a reader sees %q", hidden)
		}
	}
	if got := main(v.page("/sources")); strings.Contains(got, "Webhooks") {
		t.Error("a reader sees webhooks")
	}
	for _, path := range []string{"/sources/default/billing/pause", "/sources/default/billing/test",
		"/sources/default/billing/policy", "/webhooks/x/test", "/redrives", "/redrives/preview"} {
		if got := v.post(path, "do", "pause"); got.status != http.StatusForbidden {
			t.Errorf("POST %s by a reader = %d", path, got.status)
		}
	}
	if got := s.as("letters").get("/audit"); got.status != http.StatusForbidden {
		t.Errorf("GET /audit without read = %d", got.status)
	}
}

// TestPreviewOfEdit: the page of an edit shows the changes, or the place where it is not JSON.
func TestPreviewOfEdit(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	letter := s.report(dead("card expired", `{"order": 9007199254740993, "card": "x"}`))[0].LetterUUID.String()
	task := s.fail("resize", "the file is gone", `{"file": "cat.png"}`).String()
	for _, c := range []struct{ path, field, text, want string }{
		{"/letters/" + letter + "/preview", "payload", `{"order": 9007199254740993, "card": "y"}`,
			"1 line out, 1 line in"},
		{"/letters/" + letter + "/preview", "payload", `{"order":9007199254740993,"card":"x"}`, "Nothing changes."},
		{"/letters/" + letter + "/preview", "payload", "{\n\"order\": x}", "line 2, column 10"},
		{"/tasks/" + task + "/context/preview", "context", `{"file": "dog.png"}`, "+   &#34;file&#34;: &#34;dog.png&#34;"},
		{"/tasks/" + task + "/context/preview", "context", ``, "This is not JSON"},
	} {
		if got := v.post(c.path, c.field, c.text); got.status != http.StatusOK || !strings.Contains(got.body, c.want) {
			t.Errorf("the preview of %q at %s = %d, without %q:\n%s", c.text, c.path, got.status, c.want, got.body)
		}
	}
	if got := v.post("/letters/"+letter+"/change", "payload", "{"); got.status != http.StatusBadRequest ||
		!strings.Contains(got.body, "line 1, column 2") {
		t.Errorf("an edit that is not JSON = %d\n%s", got.status, got.body)
	}
}

// TestOffers: the notice about an act offers the opposite once, to its viewer.
func TestOffers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	receipt := s.report(dead("card expired", `{"order": 1}`))[0]
	group, letter := receipt.GroupID, receipt.LetterUUID.String()
	for _, c := range []struct {
		path, title string
		fields      []string
	}{
		{"/inbox/change", "Reopen", []string{"group", group, "state", "acknowledged"}},
		{"/inbox/" + group + "/change", "Reopen", []string{"do", "resolved"}},
		{"/letters/" + letter + "/change", "Restore", []string{"do", "discard", "reason", "no use"}},
	} {
		got := v.post(c.path, c.fields...)
		if !strings.Contains(got.body, "<button>"+c.title+"</button></form></div>") {
			t.Errorf("POST %s = %d, and does not offer %q:\n%s", c.path, got.status, c.title, main(got.body))
		}
		if body := v.get("/inbox").body; strings.Contains(body, `class="said"><span>`) {
			t.Errorf("after %s, the notice comes again", c.path)
		}
	}
	if got := v.post("/letters/"+letter+"/change", "do", "restore"); !strings.Contains(got.body, "open again") {
		t.Errorf("the restore = %d", got.status)
	}
}

// TestInboxViews: sums of groups, and the lists of letters and cases behind a search.
func TestInboxViews(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	s.report(dead("card expired", `{"order": 1}`))
	id := s.fail("resize", "the file is gone", `{"file": "cat.png"}`)
	v.page("/inbox?by=where", `<a href="/inbox?where=billing">billing</a>`, `<a href="/inbox?where=resize">resize</a>`)
	v.page("/inbox?by=owner", `<span class="none">none</span>`)
	v.page("/inbox?where=resize", "the file is gone")
	v.page("/inbox?text=gone", `href="/cases?namespace=&amp;text=gone"`, "search letters")
	v.page("/cases", "the file is gone", "/tasks/"+id.String())
	v.page("/cases?text=nothing", "No case is like this.")
	if got := v.get("/cases/export?format=csv"); !strings.Contains(got.body, "the file is gone") {
		t.Errorf("the file of cases is %s", got.body)
	}
	v.page("/replays", "There is no replay.")
	for _, path := range []string{"/cases?cursor=x", "/cases?cursor=-1", "/cases?cursor=10001"} {
		if got := v.get(path); got.status != http.StatusBadRequest {
			t.Errorf("GET %s = %d", path, got.status)
		}
	}
}

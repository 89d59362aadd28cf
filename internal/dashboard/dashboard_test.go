package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/model/access"
)

// lists are the pages that exist without any object.
var lists = []string{"/", "/inbox", "/letters", "/redrives", "/tasks", "/schedules", "/queues", "/workers",
	"/templates", "/sources", "/audit", "/system"}

func TestEmpty(t *testing.T) {
	t.Parallel()
	v := serve(t).viewer()
	for _, path := range lists {
		got := v.page(path, "<h1>", `<main id="main"`)
		if strings.Contains(got, "<no value>") || strings.Contains(got, "%!") {
			t.Errorf("GET %s has a fault of its template:\n%s", path, main(got))
		}
	}
	v.page("/", "All quiet.")
	v.page("/inbox", "Nothing is open.")
	v.page("/tasks", "There are no tasks yet.")
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	id := s.fail("resize", "the file is gone", `{"big": 12345678901234567890, "file": "cat.png"}`)
	receipts := s.report(dead("card expired", `{"order": 9007199254740993, "card": "x"}`),
		dead("card expired", `{"order": 2, "card": "x"}`))
	group, letter := receipts[0].GroupID, receipts[0].LetterUUID.String()

	v.page("/", "card expired", "the file is gone", "/inbox/"+group)
	v.page("/inbox", "card expired", "the file is gone", `data-pick`)
	v.page("/inbox?text=expired", "card expired")
	v.page("/inbox?text=nobody", "No group has this in its title.")
	v.page("/inbox/"+group, "Why these belong together", "2 open letters", "Redrive…", "payload card")
	v.page("/letters", letter)
	v.page("/letters?text=expired", letter)
	v.page("/letters/"+letter, "9007199254740993", "tenant", "acme", "Send back…", "Discard…")
	other := receipts[1].LetterUUID.String()
	v.page("/letters/compare?letter="+letter+"&letter="+other, "Where they differ", `<del>-   &#34;order&#34;: 9007199254740993,`,
		`<ins>`+"+   &#34;order&#34;: 2,", "in which they are equal")
	if got := v.get("/letters/compare?letter=" + letter + "&letter=" + other); strings.Count(got.body, `scope="row"`) != 1 {
		t.Errorf("the two differ in more than their size:\n%s", main(got.body))
	}
	if got := v.get("/letters/compare?letter=" + letter); got.status != http.StatusBadRequest {
		t.Errorf("a comparison of one letter = %d", got.status)
	}
	v.page("/redrives/new?groups="+group, "Sends 2 items back")
	v.page("/tasks", "resize", id.String())
	v.page("/tasks?view=error", "resize")
	v.page("/tasks?view=complete", "No task is like this.")
	v.page("/tasks/"+id.String(), "12345678901234567890", "the file is gone", "Replay…", "Resolve…", "Case")
	v.page("/workers", "tester")
	workers, err := s.engine.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.page("/workers/"+workers[0].WorkerID.String(), "Drain…", "Cordon…")
	if got := v.get("/letters/" + letter + "/payload"); got.body != `{"order":9007199254740993,"card":"x"}` ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the download is %q, %v", got.body, got.header)
	}
	for path, want := range map[string]string{
		"/inbox/export?format=csv": "card expired", "/inbox/export?format=jsonl": `"title":"Broken: card expired"`,
		"/tasks/export?format=csv": id.String() + ",default,resize", "/letters/export?format=csv": letter,
	} {
		if got := v.get(path); !strings.Contains(got.body, want) {
			t.Errorf("GET %s has no %q:\n%s", path, want, got.body)
		}
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const source = "name: invoice\nnamespace_name: shop\nversion: %s\nsteps:\n  - {name: charge, handler: charge}\n" +
		"  - {name: ship, handler: %s, dependencies: [charge]}\n"
	for version, handler := range map[string]string{"1.0.0": "ship", "2.0.0": "send"} {
		if _, err := s.engine.RegisterTemplate(t.Context(),
			tasker.TemplateSource{YAML: fmt.Sprintf(source, version, handler)}); err != nil {
			t.Fatal(err)
		}
	}
	v := s.viewer()
	v.page("/templates", "invoice", "1.0.0", "2.0.0")
	v.page("/templates?name=nobody", "No template has this name.")
	v.page("/templates/shop/invoice?version=1.0.0", "charge", "<svg", "No task of this version is stored.")
	v.page("/templates/shop/invoice?version=2.0.0&compare=1.0.0", "What changed since 1.0.0", "<del>", "<ins>")
	if got := v.get("/templates/shop/nobody"); got.status != http.StatusNotFound {
		t.Errorf("an unknown template = %d", got.status)
	}
}

// TestManySteps: the table of a task with many steps begins with the urgent ones, and the graph leads to all.
func TestManySteps(t *testing.T) {
	t.Parallel()
	s := serve(t)
	large := bigTask(t, s)
	v := s.viewer()
	if got := strings.Count(v.page("/tasks/"+large, "<span class=\"hint\">100 of ", `href="?steps=all#s-`), "<tr id=\"s-"); got != 100 {
		t.Errorf("%d rows", got)
	}
	all := v.page("/tasks/" + large + "?steps=all")
	if got := strings.Count(all, "<tr id=\"s-"); got != 1000 || strings.Contains(all, "?steps=all#s-") {
		t.Errorf("%d rows of all", got)
	}
}

// TestUnknown: a missing object is a page for people, and a problem for programs.
func TestUnknown(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	for _, path := range []string{"/tasks/" + uuid.NewString(), "/tasks/x", "/inbox/0123456789abcdef", "/inbox/nowhere",
		"/letters/" + uuid.NewString(), "/redrives/" + uuid.NewString(), "/workers/" + uuid.NewString(),
		"/cases/" + uuid.NewString(), "/nowhere"} {
		got := v.get(path)
		if got.status != http.StatusNotFound || !strings.Contains(got.body, "<main") {
			t.Errorf("GET %s = %d", path, got.status)
		}
	}
	for _, path := range []string{"/v1/nowhere", "/api/v1/nowhere"} {
		if got := v.get(path); got.status != http.StatusNotFound || !strings.HasPrefix(got.body, "{") {
			t.Errorf("GET %s = %d %s", path, got.status, got.body)
		}
	}
	for path, want := range map[string]string{"/tasks?after=yesterday": "must be a time", "/tasks?state=up": "state",
		"/inbox?state=up": "state", "/inbox?cursor=x": "cursor"} {
		if got := v.get(path); got.status != http.StatusBadRequest || !strings.Contains(got.body, want) {
			t.Errorf("GET %s = %d\n%s", path, got.status, main(got.body))
		}
	}
}

// TestHostile: text of programs and senders stays text.
func TestHostile(t *testing.T) {
	t.Parallel()
	const bad = `"'><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}`
	s := serve(t)
	v := s.viewer()
	id := s.fail("resize", bad, fmt.Sprintf(`{%q: %q}`, bad, bad))
	if _, err := s.engine.CancelTasks(t.Context(), tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id}, Reason: bad,
		CancelledBy: bad}); err != nil {
		t.Fatal(err)
	}
	r := dead(bad, fmt.Sprintf(`{%q: %q}`, bad, bad))
	r.MessageID, r.Handler, r.Failure.Type, r.Failure.Stack = bad, bad, bad, bad
	r.Headers = []deadletters.Header{{Name: "h", Value: bad}}
	got := s.report(r)
	group := got[0].GroupID
	if _, err := s.engine.DeadLetters().ChangeGroup(t.Context(), group, deadletters.GroupChange{Note: bad,
		Act: deadletters.Act{Actor: bad}}); err != nil {
		t.Fatal(err)
	}
	made, err := s.engine.DeadLetters().CreateRedrive(t.Context(), deadletters.RedriveRequest{
		Operation: deadletters.OpDiscard, Selection: deadletters.Selection{Groups: []string{group}},
		Act: deadletters.Act{Actor: bad, Reason: bad}})
	if err != nil {
		t.Fatal(err)
	}
	q := "?text=" + strings.NewReplacer(`"`, "%22", "<", "%3C", ">", "%3E", " ", "%20", "'", "%27").Replace(bad)
	for _, path := range append(append([]string{}, lists...), "/inbox/"+group, "/letters/"+got[0].LetterUUID.String(),
		"/tasks/"+id.String(), "/redrives/"+made.RedriveUUID.String(), "/redrives/new?groups="+group, "/inbox"+q,
		"/letters"+q) {
		body := v.page(path)
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") {
			t.Errorf("GET %s takes text for markup:\n%s", path, main(body))
		}
	}
	for _, path := range []string{"/inbox/export?format=csv", "/tasks/export?format=csv"} {
		if got := v.get(path); strings.Contains(got.header.Get("Content-Type"), "html") {
			t.Errorf("GET %s is %s", path, got.header.Get("Content-Type"))
		}
	}
	policy := v.get("/").header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
}

func TestActs(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	id := s.fail("resize", "the file is gone", `{"file": "cat.png"}`)
	receipts := s.report(dead("card expired", `{"order": 1}`), dead("card expired", `{"order": 2}`))
	group, at := receipts[0].GroupID, "/tasks/"+id.String()

	must := func(got answer, want string) {
		t.Helper()
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Fatalf("%d, want %q in\n%s", got.status, want, got.body)
		}
	}
	must(v.post("/inbox/change", "group", group, "state", "acknowledged"), "1 group acknowledged.")
	must(v.post("/inbox/"+group+"/change", "do", "note", "note", "the bank is down"), "the bank is down")
	must(v.post("/inbox/"+group+"/change", "do", "owner", "owner", "ann"), "ann")
	must(v.post("/inbox/"+group+"/change", "do", "ignored", "hours", "2"), "The group is ignored.")
	must(v.post("/inbox/"+group+"/change", "do", "open"), "The group is open.")
	letter := "/letters/" + receipts[0].LetterUUID.String()
	must(v.post(letter+"/change", "do", "edit", "payload", `{"order": 3}`, "reason", "typo"), "Payload that is sent")
	must(v.post(letter+"/change", "do", "clear"), "The edit is dropped.")
	must(v.post(letter+"/change", "do", "discard", "reason", "a test"), "The letter is discarded.")
	must(v.post(letter+"/change", "do", "restore"), "The letter is open again.")
	must(v.post("/redrives", "operation", "discard", "groups", group, "reason", "old"), "2 items selected.")
	must(v.post("/redrives/preview", "operation", "redrive", "groups", group, "canary", "1"), "The first wave has 1")

	must(v.post(at+"/case", "act", "note", "case", s.caseOf(id), "note", "looked at it"), "looked at it")
	must(v.post(at+"/context", "context", `{"file": "dog.png"}`, "reason", "wrong file", "version", "0"),
		"The context is changed.")
	must(v.post(at+"/replay", "reason", "again", "expected", "error"), "runs again.")
	must(v.post(at+"/cancel", "reason", "enough"), "The task is cancelled.")
}

func (s *server) caseOf(id uuid.UUID) string {
	s.t.Helper()
	c, err := s.engine.CaseOfTask(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return c.CaseUUID.String()
}

// TestConflict: an act on a changed object is refused in place, with the reason.
func TestConflict(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	id := s.fail("resize", "the file is gone", `{}`)
	if got := v.post("/tasks/"+id.String()+"/cancel", "expected", "error"); got.status != http.StatusOK {
		t.Fatalf("cancel = %d", got.status)
	}
	form := v.request(http.MethodPost, "/tasks/"+id.String()+"/replay", map[string][]string{"expected": {"error"}})
	form.Header.Set("X-CSRF-Token", v.token())
	form.Header.Set("HX-Request", "true")
	got := v.do(form)
	if got.status != http.StatusConflict || got.header.Get("HX-Retarget") != "#notice" ||
		!strings.Contains(got.body, "cancelled") || strings.Contains(got.body, "<main") {
		t.Errorf("the second act = %d %v\n%s", got.status, got.header, got.body)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v, other := s.viewer(), s.viewer()
	id := s.fail("resize", "the file is gone", `{}`)
	for _, token := range []string{"", "x", other.token()} {
		got := v.postWith(token, "/tasks/"+id.String()+"/cancel")
		if got.status != http.StatusForbidden || !strings.Contains(got.body, "too old to act") {
			t.Errorf("with the token %q: %d", token, got.status)
		}
	}
	if task, err := s.engine.Task(t.Context(), id, 0); err != nil || task.State != tasker.TaskError {
		t.Errorf("the task is %v, %v", task.State, err)
	}
}

// TestLargeForm: a form over the limit is refused whole.
func TestLargeForm(t *testing.T) {
	t.Parallel()
	v := serve(t).viewer()
	got := v.post("/inbox/0123456789abcdef/change", "do", "note", "note", strings.Repeat("x", 5<<20))
	if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "<main") {
		t.Errorf("5 MiB = %d", got.status)
	}
}

// TestKeys: viewers see and do what their key may.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Key{Name: "admin", Permissions: []string{"admin"}},
		access.Key{Name: "reader", Permissions: []string{"read"}},
		access.Key{Name: "other", Permissions: []string{"admin"}, Namespaces: []string{"video"}},
		access.Key{Name: "several", Permissions: []string{"admin"}, Namespaces: []string{"default", "video"}},
		access.Key{Name: "worker", Permissions: []string{"work"}})
	id := s.fail("resize", "the file is gone", `{}`)
	receipts := s.report(dead("card expired", `{"order": 1}`))
	task, group, letter := "/tasks/"+id.String(), "/inbox/"+receipts[0].GroupID,
		"/letters/"+receipts[0].LetterUUID.String()

	stranger := s.viewer()
	for _, path := range append(append([]string{}, lists...), task, group, letter, "/inbox/export", "/nowhere") {
		if got := stranger.get(path); !strings.HasPrefix(got.url, "/signin") || strings.Contains(got.body, "card expired") {
			t.Errorf("a stranger gets %s: %d %s", path, got.status, got.url)
		}
	}
	for _, secret := range []string{"", "tsk_wrong", s.keys["worker"]} {
		if got := stranger.post("/signin", "key", secret); got.status < 400 || !strings.Contains(got.body, `role="alert"`) {
			t.Errorf("sign in with %q = %d", secret, got.status)
		}
	}
	if got := stranger.post(task + "/cancel"); !strings.HasPrefix(got.url, "/signin") {
		t.Errorf("a stranger's act = %d %s", got.status, got.url)
	}

	admin := s.as("admin")
	admin.page(task, "Cancel…")
	admin.page(letter, "Discard…")

	reader := s.as("reader")
	admin.page("/system", "server.listen")
	for path, hidden := range map[string]string{task: "Cancel…", group: "A sample", "/inbox": "data-pick",
		"/system": "server.listen"} {
		if body := reader.page(path); strings.Contains(body, hidden) {
			t.Errorf("a reader is offered %q at %s", hidden, path)
		}
	}
	if got := reader.get(letter); got.status != http.StatusForbidden {
		t.Errorf("a reader gets a letter: %d", got.status)
	}
	for _, path := range []string{task + "/cancel", task + "/replay", group + "/change", letter + "/change", "/redrives"} {
		if got := reader.post(path, "do", "open"); got.status != http.StatusForbidden {
			t.Errorf("POST %s of a reader = %d", path, got.status)
		}
	}

	other := s.as("other")
	if body := other.page("/system"); strings.Contains(body, "server.listen") || strings.Contains(body, "/system/doctor") {
		t.Error("an admin of one namespace sees the configuration of the server")
	}
	for name, want := range map[string]int{"admin": http.StatusServiceUnavailable, "other": http.StatusForbidden,
		"several": http.StatusForbidden, "reader": http.StatusForbidden} { // the database of this server is not examined
		if got := s.as(name).get("/system/doctor"); got.status != want {
			t.Errorf("%s gets /system/doctor: %d", name, got.status)
		}
	}
	for _, path := range []string{task, group, letter} {
		if got := other.get(path); got.status != http.StatusNotFound {
			t.Errorf("a key of another namespace gets %s: %d", path, got.status)
		}
	}
	for _, path := range lists {
		if path == "/workers" { // the worker is for all namespaces
			continue
		}
		if body := other.page(path); strings.Contains(body, "card expired") || strings.Contains(body, "resize") {
			t.Errorf("a key of another namespace sees its neighbours at %s:\n%s", path, main(body))
		}
	}

	several := s.as("several")
	for _, path := range lists {
		several.page(path)
	}
	several.page("/inbox", "card expired", `<option selected>default</option>`)
	if body := several.page("/inbox?namespace=video"); strings.Contains(body, "card expired") {
		t.Error("the inbox of video shows a group of default")
	}

	second := s.as("admin")
	if got := admin.post("/signout"); !strings.HasPrefix(got.url, "/signin") {
		t.Errorf("sign out = %d %s", got.status, got.url)
	}
	second.page("/inbox", "card expired")
	second.post("/signout/everywhere")
	if got := second.get("/inbox"); !strings.HasPrefix(got.url, "/signin") {
		t.Errorf("signed out everywhere, and still there: %d %s", got.status, got.url)
	}
}

// TestSignInLeads: a viewer returns to the requested page, and to no other server.
func TestSignInLeads(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Key{Name: "admin", Permissions: []string{"admin"}})
	for next, want := range map[string]string{"/tasks?view=error": "/tasks?view=error", "//evil.test/": "/",
		"https://evil.test/": "/", "/\\evil.test": "/", "": "/"} {
		got := s.viewer().post("/signin", "key", s.keys["admin"], "next", next)
		if got.url != want {
			t.Errorf("next %q leads to %q", next, got.url)
		}
	}
}

// TestLive: a repeated request gets the page without its frame, or nothing if nothing changed, and the stream reports
// possible changes.
func TestLive(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v := s.viewer()
	v.page("/tasks")
	live := func(etag string) answer {
		r := v.request(http.MethodGet, "/tasks", nil)
		r.Header.Set("X-Live", etag)
		return v.do(r)
	}
	first := live("none")
	if first.status != http.StatusOK || strings.Contains(first.body, "<html") || first.header.Get("X-ETag") == "" {
		t.Fatalf("the main part = %d %v", first.status, first.header)
	}
	if again := live(first.header.Get("X-ETag")); again.status != http.StatusNoContent || again.body != "" {
		t.Errorf("the same again = %d", again.status)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := v.request(http.MethodGet, "/live", nil).WithContext(ctx)
	resp, err := v.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s.fail("resize", "the file is gone", `{}`)
	var heard strings.Builder
	buffer := make([]byte, 1024)
	for !strings.Contains(heard.String(), "tasks") {
		n, err := resp.Body.Read(buffer)
		heard.Write(buffer[:n])
		if err != nil {
			t.Fatalf("heard %q: %v", heard.String(), err)
		}
	}
}

// TestOrigins: a page of another site, and a name that resolves to this machine, are refused.
func TestOrigins(t *testing.T) {
	t.Parallel()
	v := serve(t).viewer()
	token := v.token()
	foreign := v.request(http.MethodPost, "/redrives", nil)
	foreign.Header.Set("X-CSRF-Token", token)
	foreign.Header.Set("Sec-Fetch-Site", "cross-site")
	if got := v.do(foreign); got.status != http.StatusForbidden {
		t.Errorf("an act of another site = %d", got.status)
	}
	rebound := v.request(http.MethodGet, "/inbox", nil)
	rebound.Host = "evil.test"
	if got := v.do(rebound); got.status != http.StatusForbidden {
		t.Errorf("a request to evil.test = %d", got.status)
	}
}

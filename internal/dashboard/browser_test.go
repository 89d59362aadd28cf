package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/testkit/browsertest"
	"github.com/taskerhq/tasker/schedules"
)

func inBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("what runs in a browser is no matter for the race detector; make test runs it")
	}
	t.Parallel()
}

func (s *server) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.engine.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("the loops ended with %v", err)
		}
	})
}

func TestBrowserPages(t *testing.T) {
	inBrowser(t)
	s := serve(t)
	id := s.fail("resize", strings.Repeat("the file is gone ", 20), `{"file": "cat.png"}`)
	receipts := s.report(dead(strings.Repeat("card-expired", 12), `{"order": 1, "card": "x"}`),
		dead(strings.Repeat("card-expired", 12), `{"order": 2, "card": "x"}`))
	group := receipts[0].GroupID
	made, err := s.engine.DeadLetters().CreateRedrive(t.Context(), deadletters.RedriveRequest{
		Operation: deadletters.OpDiscard, Selection: deadletters.Selection{Groups: []string{group}},
		Act: deadletters.Act{Reason: "old"}})
	if err != nil {
		t.Fatal(err)
	}
	s.schedule("nightly")
	if _, err := s.engine.Schedules().Run(t.Context(), "default", "nightly", schedules.ScheduleRunRequest{}); err != nil {
		t.Fatal(err)
	}
	b := browsertest.New(t)
	for _, path := range append(append([]string{}, lists...), "/inbox/"+group, "/schedules/default/nightly",
		"/letters/"+receipts[0].LetterUUID.String(), "/tasks/"+id.String(), "/redrives/"+made.RedriveUUID.String(),
		"/redrives/new?groups="+group) {
		for _, dark := range []bool{false, true} {
			b.SetDark(dark)
			b.SetSize(1400, 900)
			b.Open(s.url + path)
			for _, v := range b.Violations() {
				t.Errorf("%s (dark: %v): %+v", path, dark, v)
			}
		}
		for _, width := range []int{360, 1024, 2560} {
			b.SetSize(width, 900)
			var wide int
			b.Eval("document.documentElement.scrollWidth", &wide)
			if wide > width {
				t.Errorf("%s is %d pixels wide in a window of %d", path, wide, width)
			}
		}
	}
}

func TestBrowserLive(t *testing.T) {
	inBrowser(t)
	s := serve(t)
	s.report(dead("card expired", `{"order": 1}`))
	ann, ben := browsertest.New(t), browsertest.New(t)
	ann.Open(s.url + "/inbox")
	ben.Open(s.url + "/inbox")
	ben.WaitText("#live", "Live")
	ann.Press("j", "x", "a")
	ann.WaitText("#notice", "1 group acknowledged.")
	ben.WaitText("main", "Nothing is open.")
	ben.Click(`a[href="/inbox?state=acknowledged"]`)
	ben.WaitText("main", "card expired")
	ben.WaitURL("state=acknowledged")
}

// TestBrowserRedrive: clicks lead from the first page to letters that are sent back; a failure halts.
func TestBrowserRedrive(t *testing.T) {
	inBrowser(t)
	s := serve(t)
	var sent atomic.Int32
	orders := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	t.Cleanup(orders.Close)
	if _, err := s.engine.DeadLetters().SaveSource(t.Context(), deadletters.SourceRequest{Source: deadletters.Source{
		Name: "billing", Driver: "http", Targets: []string{orders.URL}}}); err != nil {
		t.Fatal(err)
	}
	var reports []deadletters.Report
	for n := range 12 {
		r := dead("card expired", fmt.Sprintf(`{"order": %d}`, n))
		r.Origin = orders.URL
		reports = append(reports, r)
	}
	s.reportTo(reports...)
	s.run()
	b := browsertest.New(t)
	b.Open(s.url + "/")
	b.Click(`a[href^="/inbox/"]`)
	b.WaitText("h1", "card expired")
	b.Click(`a[data-key="r"]`)
	b.WaitText("#preview", "Sends 12 items back")
	b.Fill(`input[name="canary"]`, "2")
	b.Fill(`input[name="observe"]`, "0.1")
	b.WaitText("#preview", "The first wave has 2")
	b.Fill(`input[name="reason"]`, "cards work again")
	b.Click(`button[name="start"]`)
	b.WaitURL("/redrives/0")
	b.WaitText("h1 + .state", "done")
	b.WaitText("main", "cards work again")
	if sent.Load() != 12 {
		t.Errorf("%d of 12 letters arrived", sent.Load())
	}
	b.Click(`.crumb a[href^="/inbox/"]`) // back to the group, which is resolved, so nothing needs a human
	b.WaitText("h1", "card expired")
	b.Click(`details[data-key="e"] > summary`)
	b.Fill(`details[data-key="e"] input[name="note"]`, "the bank is back")
	b.Click(`details[data-key="e"] form button`)
	b.WaitText("#notice", "The group is resolved.")
	b.WaitText("main", "the bank is back")
	b.Click(`.menu a[href="/"]`)
	b.WaitText("main", "All quiet.")
}

// TestBrowserReconnect: while the server is away the page shows since when it is stale; afterwards it catches up
// without a reload.
func TestBrowserReconnect(t *testing.T) {
	inBrowser(t)
	s := serve(t)
	b := browsertest.New(t)
	b.Open(s.url + "/inbox")
	b.WaitText("#live", "Live")
	s.stop()
	b.WaitText("#live", "Stale since")
	s.report(dead("card expired", `{"order": 1}`))
	s.start()
	b.WaitText("#live", "Live")
	b.WaitText("main", "card expired")
}

// TestBrowserViews: a list with filters is saved under a name, found again, and removed.
func TestBrowserViews(t *testing.T) {
	inBrowser(t)
	s := serve(t)
	s.report(dead("card expired", `{"order": 1}`))
	b := browsertest.New(t)
	b.Open(s.url + "/inbox?text=card&state=all")
	b.Click(".views summary")
	b.Fill(".views input", "Cards")
	b.Press("Enter")
	b.WaitText(".views", "Cards")
	b.Open(s.url + "/inbox")
	b.Click(".views .chip a")
	b.WaitURL("text=card")
	b.WaitText("main", "card expired")
	for _, v := range b.Violations() {
		t.Errorf("with a saved view: %+v", v)
	}
	b.Click(".views .chip button")
	b.WaitCount(".views .chip", 0)
}

// TestBrowserConflict: an act on a task that has changed is refused in place, and the page shows why.
func TestBrowserConflict(t *testing.T) {
	inBrowser(t)
	s := serve(t)
	id := s.fail("resize", "the file is gone", `{}`)
	b := browsertest.New(t)
	b.Expect("409")
	b.Open(s.url + "/tasks/" + id.String())
	b.Click(`details[data-key="r"] > summary`)
	s.viewer().post("/tasks/"+id.String()+"/cancel", "reason", "enough")
	b.Click(`details[data-key="r"] form button`)
	b.WaitText("#notice", "cancelled")
	b.Press("Escape")
	b.WaitText("h1 + .state", "cancelled")
}

func TestBrowserSignIn(t *testing.T) {
	inBrowser(t)
	s := serve(t, access.Key{Name: "ann", Permissions: []string{"admin"}})
	b := browsertest.New(t)
	b.Open(s.url + "/tasks?view=error")
	b.WaitText("h1", "Sign in")
	for _, v := range b.Violations() {
		t.Errorf("%+v", v)
	}
	b.Fill(`input[name="key"]`, "tsk_wrong")
	b.Press("Enter")
	b.WaitText("#problem", "unknown")
	b.Fill(`input[name="key"]`, s.keys["ann"])
	b.Press("Enter")
	b.WaitText("h1", "Tasks")
	b.WaitURL("view=error")
	for _, c := range b.Cookies() {
		if c.Name == "tasker_session" && !c.HttpOnly {
			t.Error("scripts can read the session")
		}
	}
	b.Click(".pop > summary")
	b.Click(`form[action="/signout"] button`)
	b.WaitText("h1", "Sign in")
}

func TestBrowserHostile(t *testing.T) {
	inBrowser(t)
	const bad = `"'><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>`
	s := serve(t)
	id := s.fail("resize", bad, fmt.Sprintf(`{%q: %q}`, bad, bad))
	got := s.report(dead(bad, fmt.Sprintf(`{%q: %q}`, bad, bad)))
	b := browsertest.New(t) // a dialog or a request fails the test
	for _, path := range []string{"/", "/inbox", "/inbox/" + got[0].GroupID, "/letters/" + got[0].LetterUUID.String(),
		"/tasks/" + id.String()} {
		b.Open(s.url + path)
		b.WaitText("main", "<script>alert(")
	}
}

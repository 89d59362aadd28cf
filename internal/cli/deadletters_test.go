package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/cli"
)

// canned is a server with answers for each route, the last of which repeats. It records requests.
type canned struct {
	mu       sync.Mutex
	answers  map[string][]any
	requests []string
}

func (c *canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	route := r.Method + " " + r.URL.Path
	body, _ := io.ReadAll(r.Body)
	c.requests = append(c.requests, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
	answers := c.answers[route]
	if len(answers) == 0 {
		http.Error(w, `{"code":"not_found","detail":"no such thing"}`, http.StatusNotFound)
		return
	}
	if len(answers) > 1 {
		c.answers[route] = answers[1:]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answers[0])
}

func (c *canned) tasker(t *testing.T, terminal bool, args ...string) (code int, out, errs string) {
	t.Helper()
	server := httptest.NewServer(c)
	defer server.Close()
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), cli.Process{Args: append([]string{"tasker"}, args...),
		Environ: []string{"TASKER_SERVER=" + server.URL}, Version: "v0", In: strings.NewReader(""), Out: &stdout,
		Err:         &stderr,
		ErrTerminal: terminal, Now: func() time.Time { return time.Date(2026, 3, 1, 8, 30, 0, 0, time.UTC) }})
	return code, stdout.String(), stderr.String()
}

func (c *canned) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[len(c.requests)-1]
}

const groupID = "00000000000000ab"

var redriveID = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f81")

func TestSourceListMarksCounts(t *testing.T) {
	t.Parallel()
	c := &canned{answers: map[string][]any{"GET /v1/sources": {map[string]any{"sources": []deadletters.SourceStatus{
		{Source: deadletters.Source{Name: "full"}, Open: 10_000},
		{Source: deadletters.Source{Name: "fuller"}, Open: 10_000, OpenCapped: true}}}}}}
	_, out, errs := c.tasker(t, false, "source", "list")
	if strings.Count(out, "10000") != 2 || strings.Count(out, "10000+") != 1 {
		t.Errorf("it says\n%s%s", out, errs)
	}
}

func TestInbox(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	c := &canned{answers: map[string][]any{"GET /v1/groups": {deadletters.GroupPage{NextCursor: "12.ab",
		Groups: []deadletters.Group{{GroupID: groupID, Namespace: "default", Title: "Timeout: no \x1b[2Janswer",
			State:      "open",
			Regression: true, FirstAt: at.Add(-time.Hour), LastAt: at, Failures: 9, OpenLetters: 3, OpenCases: 1,
			Owner: "ann", Fingerprint: deadletters.Fingerprint{Where: "charge"},
			Hours: []deadletters.Hour{{At: at, Failures: 9}}}}}}}}
	code, out, errs := c.tasker(t, false, "inbox", "--order", "open")
	for _, want := range []string{groupID, "open (regression)", " 4 ", "·······················█", "30m ago", "ann",
		"charge",
		"Timeout: no \\x1b[2Janswer", "More: --cursor 12.ab"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if code != 0 || strings.Contains(out, "\x1b") || c.last() != "GET /v1/groups?limit=50&open_only=true&order=open" {
		t.Errorf("exit code %d after %s: %s%s", code, c.last(), out, errs)
	}
}

func TestGroupChanges(t *testing.T) {
	t.Parallel()
	path := "/v1/groups/" + groupID
	group := []any{deadletters.Group{GroupID: groupID, State: "resolved", ResolvedIn: "v2"}}
	for args, want := range map[string]string{
		"group ack ID --note seen":             `"state":"acknowledged","note":"seen"`,
		"group resolve ID --in v2":             `"state":"resolved","resolved_in":"v2"`,
		"group reopen ID --reason wrong":       `"state":"open","actor":"ann","reason":"wrong"`,
		"group ignore ID --for 24h --count 10": `"state":"ignored","ignore":{"until":"2026-03-02T08:30:00Z","count":10}`,
		"group ignore ID":                      `{"state":"ignored","actor":"ann"}`,
		"group note ID --text hello":           `{"note":"hello","actor":"ann"}`,
		"group assign ID --owner=":             `{"owner":"","actor":"ann"}`,
	} {
		c := &canned{answers: map[string][]any{"PATCH " + path: group}}
		fields := strings.Fields(strings.Replace(args, "ID", groupID, 1) + " --actor ann")
		if code, out, errs := c.tasker(t, false, fields...); code != 0 || !strings.Contains(c.last(), want) {
			t.Errorf("%s: exit code %d after %s: %s%s", args, code, c.last(), out, errs)
		}
	}
	c := &canned{answers: map[string][]any{"POST " + path + "/merge": group}}
	c.tasker(t, false, "group", "merge", groupID, "00000000000000ac", "--actor", "ann")
	if want := `{"groups":["00000000000000ac"],"actor":"ann"}`; !strings.HasSuffix(c.last(), want) {
		t.Errorf("merge sends %s", c.last())
	}
}

func TestInboxUsage(t *testing.T) {
	t.Parallel()
	id := redriveID.String()
	for _, args := range []string{"group note " + groupID, "group assign " + groupID,
		"group ignore " + groupID + " --for -1h",
		"group merge " + groupID, "letter show x", "letter edit " + id, "letter edit " + id + " --clear --key k",
		"letter edit " + id + " --patch {", "letter edit " + id + " --set-header noequals", "letter discard " + id,
		"letter list --id x", "letter list --header-value v", "letter list --after soon", "redrive watch x",
		"redrive start " + id + " --dry-run", "redrive plan --observe -1s", "redrive report", "inbox extra",
		"source add", "policy set"} {
		c := &canned{}
		if code, out, errs := c.tasker(t, false, strings.Fields(args)...); code != 2 || len(c.requests) > 0 {
			t.Errorf("%s: exit code %d, %d requests: %s%s", args, code, len(c.requests), out, errs)
		}
	}
}

func TestRedriveWatch(t *testing.T) {
	t.Parallel()
	step := func(state deadletters.RedriveState, wave, sent int) any {
		return deadletters.Redrive{RedriveUUID: redriveID, Operation: "redrive", State: state, Wave: wave, Total: 4,
			Counts: deadletters.ItemCounts{Pending: 4 - sent, Sent: sent}, HaltReason: "half came back"}
	}
	route := "GET /v1/redrives/" + redriveID.String()
	c := &canned{answers: map[string][]any{route: {step("running", 1, 1), step("observing", 1, 1), step("done", 2, 4)}}}
	code, out, errs := c.tasker(t, false, "redrive", "watch", redriveID.String())
	if code != 0 || errs != "running, wave 1: 1 of 4\nobserving, wave 1: 1 of 4\ndone, wave 2: 4 of 4\n" ||
		!strings.Contains(out, "4 sent") {
		t.Errorf("exit code %d: %s%s", code, errs, out)
	}
	c = &canned{answers: map[string][]any{route: {step("halted", 1, 2)}}}
	code, out, errs = c.tasker(t, true, "redrive", "watch", redriveID.String())
	if code != 1 || !strings.Contains(errs, "[███████████████░░░░░░░░░░░░░░░]  50% halted, wave 1") ||
		!strings.Contains(out, "Halted: half came back") {
		t.Errorf("exit code %d: %s%s", code, errs, out)
	}
}

func TestRedriveStart(t *testing.T) {
	t.Parallel()
	c := &canned{answers: map[string][]any{"POST /v1/redrives": {
		deadletters.Redrive{RedriveUUID: redriveID, State: "running"}},
		"POST /v1/redrives/preview": {map[string]any{"total": 3, "problems": []any{map[string]any{"message": "no queue"}}}}}}
	args := strings.Fields("redrive start --group " + groupID + " --canary 2 --observe 1m --stop-share 0.5" +
		" --parked=false --actor a")
	if code, out, errs := c.tasker(t, false, append(args, "--patch", `{"a": 1}`)...); code != 0 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	want := `{"operation":"redrive","selection":{"groups":["` + groupID + `"],"parked":false},` +
		`"edit":{"patch":{"a":1}},"plan":{"canary":2,"observe_seconds":60},"stop":{"returned_share":0.5},"start":true,` +
		`"actor":"a"}`
	if !strings.HasSuffix(c.last(), want) {
		t.Errorf("start sends %s", c.last())
	}
	code, out, errs := c.tasker(t, false, append(args, "--dry-run")...)
	if code != 7 || !strings.Contains(errs, "no queue") || !strings.Contains(c.last(), "/preview") {
		t.Errorf("a dry run ends with %d: %s%s", code, out, errs)
	}
}

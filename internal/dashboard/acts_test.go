package dashboard_test

import (
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/worker/protocol"
)

type operator struct {
	*viewer
	done map[string]bool // patterns of acts
}

// does carries an act out and fails unless the next page contains want. at is the path of the act, whose pattern it
// records.
func (o operator) does(pattern, at, want string, fields ...string) answer {
	o.s.t.Helper()
	got := o.post(at, fields...)
	if got.status != http.StatusOK || !strings.Contains(got.body, want) {
		o.s.t.Errorf("POST %s %v = %d, without %q:\n%s", at, fields, got.status, want, main(got.body))
	}
	o.done[pattern] = true
	return got
}

// TestEveryAct carries out every act of every page, with every value of its buttons.
func TestEveryAct(t *testing.T) {
	t.Parallel()
	broker := memory.New(&memory.Options{KeepLog: true})
	broker.Declare("jobs")
	conn, err := broker.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if failed := conn.Send(t.Context(), "jobs", []driver.Message{{Payload: []byte(`{"order": 1}`)}}, driver.Limits{}); failed != nil {
		t.Fatal(failed)
	}
	s := serveWith(t, node.Options{Drivers: driver.Registry{"memory": broker.Open},
		Engine: settings.Config{OutageBreaker: settings.OutageBreaker{Enabled: settings.On}}})
	o := operator{s.viewer(), map[string]bool{}}
	actsOnGroups(o)
	actsOnLetters(o)
	actsOnTasks(o)
	actsOnWorkers(o)
	actsOnSources(o)
	actsOnQueues(o)
	actsOnOutages(o)
	actsOnSchedules(o)
	for _, pattern := range actsOfPages(t) {
		if !o.done[pattern] {
			t.Errorf("no test carries out POST %s", pattern)
		}
	}
}

func actsOfPages(t *testing.T) []string {
	t.Helper()
	act := regexp.MustCompile(`\bf\.Act\("([^"]+)"`)
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range act.FindAllStringSubmatch(string(source), -1) {
			found[m[1]] = true
		}
		return err
	})
	if err != nil || len(found) < 10 {
		t.Fatalf("%d acts, %v", len(found), err)
	}
	return slices.Sorted(maps.Keys(found))
}

func groupOf(s *server, kind string) string {
	r := dead("it failed", `{"order": 1}`)
	r.Failure.Type = kind
	return s.report(r)[0].GroupID
}

func actsOnGroups(o operator) {
	const one, many, merge = "/inbox/{group}/change", "/inbox/change", "/inbox/{group}/merge"
	group, other := groupOf(o.s, "BrokenBank"), groupOf(o.s, "BrokenCard")
	at := "/inbox/" + group
	for _, state := range []string{"acknowledged", "ignored", "open", "resolved", "open"} {
		o.does(many, many, "1 group", "group", other, "state", state)
		o.does(one, at+"/change", "The group is "+state, "do", state)
	}
	o.does(one, at+"/change", "The group is ignored.", "do", "ignored", "hours", "2", "count", "10", "per_hour", "5")
	o.does(one, at+"/change", "The note is added.", "do", "note", "note", "the bank is down")
	o.does(one, at+"/change", "The owner is changed.", "do", "owner", "owner", "ann")
	o.does(one, at+"/change", "The runbook is changed.", "do", "runbook", "runbook", "https://wiki.example/bank")
	o.does(one, at+"/change", "The due time is changed.", "do", "due", "due", "2031-05-06T07:08")
	o.page(at, "the bank is down", "ann", "https://wiki.example/bank", "2031")
	o.does(merge, at+"/merge", "1 group merged into this one.", "do", "merge", "other", other)
	o.does(merge, at+"/merge", "The group stands alone again.", "do", "unmerge", "member", other)
	o.does(merge, at+"/merge", "The group is split by the rule", "do", "split", "by", "handler")
	r := dead("it failed", `{"order": 2}`)
	r.Failure.Type = "BrokenBank"
	split := o.s.reportTo(r)[0].GroupID
	if split == group {
		o.s.t.Fatal("the split has no effect")
	}
	o.does(merge, "/inbox/"+split+"/merge", "The split is undone.", "do", "unsplit")
}

func actsOnLetters(o operator) {
	const change, act = "/letters/{letter}/change", "/redrives/{redrive}/act"
	receipt := o.s.report(dead("card expired", `{"order": 1}`), dead("card expired", `{"order": 2}`))[0]
	at := "/letters/" + receipt.LetterUUID.String() + "/change"
	o.does(change, at, "The edit is saved.", "do", "edit", "payload", `{"order": 3}`)
	o.does(change, at, "The edit is dropped.", "do", "clear")
	o.does(change, at, "The letter is discarded.", "do", "discard", "reason", "a test")
	o.does(change, at, "The letter is open again.", "do", "restore")

	made := o.does("/redrives", "/redrives", "2 items selected.", "operation", "redrive", "groups", receipt.GroupID,
		"canary", "1")
	for _, step := range []struct{ do, state string }{{"start", "running"}, {"pause", "paused"}, {"resume", "running"},
		{"cancel", "cancelled"}} {
		o.does(act, made.url+"/act", step.state, "do", step.do, "reason", "as planned")
	}
}

func actsOnTasks(o operator) {
	const step, of = "/tasks/{uuid}/steps/{step}", "/tasks/{uuid}/case"
	id := o.s.fail("resize", "the file is gone", `{"file": "cat.png"}`)
	at := "/tasks/" + id.String()
	theCase := o.s.caseOf(id)
	o.does(of, at+"/case", "The note is added.", "act", "note", "case", theCase, "note", "looked at it")
	o.does(of, at+"/case", "The case is closed as manually resolved.", "act", "manually_resolved", "case", theCase)
	o.does(of, at+"/case", "The case is open again.", "act", "reopen", "case", theCase, "note", "not yet")
	o.does("/tasks/{uuid}/context", at+"/context", "The context is changed.", "context", `{"file": "dog.png"}`, "reason",
		"wrong file", "version", "0")
	o.does("/tasks/{uuid}/replay", at+"/replay", "1 failed step runs again.", "reason", "again", "expected", "error")
	o.does("/tasks/{uuid}/cancel", at+"/cancel", "The task is cancelled.", "reason", "enough")

	for _, do := range []string{"reset_for_retry", "resolve_manually", "complete_manually"} {
		id := o.s.fail("crop-"+do, "no memory", `{}`)
		steps, err := o.s.engine.Steps(o.s.t.Context(), id)
		if err != nil {
			o.s.t.Fatal(err)
		}
		s := steps[0]
		o.does(step, "/tasks/"+id.String()+"/steps/"+s.StepUUID.String(), "Step "+s.Name, "act", do, "reason", "by hand",
			"expected", string(s.State), "result", `{"ok": true}`)
	}
	receipts, err := o.s.engine.SubmitTasks(o.s.t.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{
		{TaskType: "nobody"}}})
	if err != nil {
		o.s.t.Fatal(err)
	}
	at = "/tasks/" + receipts[0].TaskUUID.String()
	o.does(of, at+"/case", "A case is open.", "act", "open", "note", "it waits for a worker")
}

func actsOnWorkers(o operator) {
	w, err := o.s.engine.RegisterWorker(o.s.t.Context(),
		protocol.WorkerRegistration{Name: "acted", Handlers: []string{"x"}})
	if err != nil {
		o.s.t.Fatal(err)
	}
	for _, step := range []struct{ do, want string }{{"drain", "The worker drains"}, {"resume", "The worker gets steps"},
		{"cordon", "The worker gets no more"}, {"uncordon", "The worker gets steps"}} {
		o.does("/workers/{worker}/act", "/workers/"+w.WorkerID.String()+"/act", step.want, "do", step.do)
	}
}

func actsOnQueues(o operator) {
	const at = "/queues/pause"
	target := []string{"kind", "handler", "namespace", "default", "handler", "x"}
	o.does(at, at, "It is paused", append(target, "do", "pause", "reason", "the bank is down")...)
	o.page("/queues", "handler default/x", "the bank is down", "Resume")
	o.does(at, at, "It is resumed", append(target, "do", "resume")...)
	const limit = "/queues/limit"
	o.does(limit, limit, "It is limited", append(target, "do", "set", "concurrency", "5", "reason", "slow server")...)
	o.page("/queues", "Limited by operators", "handler default/x", "slow server")
	o.does(limit, limit, "The limit is deleted", append(target, "do", "delete")...)
}

func opensOutage(o operator) uuid.UUID {
	t, engine := o.s.t, o.s.engine
	tasks := make([]tasker.TaskRequest, 20)
	for i := range tasks {
		tasks[i].TaskType = "down"
	}
	w, err := engine.RegisterWorker(t.Context(), protocol.WorkerRegistration{Name: "down", Handlers: []string{"down"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.SubmitTasks(t.Context(), tasker.SubmitRequest{Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	polled, err := engine.Poll(t.Context(), protocol.PollRequest{WorkerID: w.WorkerID, Capacity: 20, Start: true})
	if err != nil {
		t.Fatal(err)
	}
	req := protocol.SettleRequest{WorkerID: w.WorkerID}
	for _, a := range polled.Steps {
		req.Results = append(req.Results, protocol.StepResult{StepUUID: a.StepUUID, Token: a.Token,
			Status: protocol.ResultFailed, Error: &tasker.Failure{Message: "refused"}})
	}
	if _, err := engine.Settle(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	for ; ; time.Sleep(time.Millisecond) {
		page, err := engine.Outages(t.Context(), flow.OutageFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Outages) > 0 {
			return page.Outages[0].OutageUUID
		}
	}
}

func actsOnOutages(o operator) {
	id := opensOutage(o)
	o.page("/", "The steps of down are held back: an outage", "refused")
	o.does("/outages/{outage}/close", "/outages/"+id.String()+"/close", "The outage is closed", "reason", "it is back")
}

func actsOnSources(o operator) {
	const act = "/replays/{replay}/act"
	letters := o.s.engine.DeadLetters()
	saved, err := letters.SaveSource(o.s.t.Context(), deadletters.SourceRequest{Source: deadletters.Source{Name: "log",
		Driver: "memory", URL: "memory:", Queue: "jobs"}})
	if err != nil {
		o.s.t.Fatal(err)
	}
	at := "/sources/default/" + saved.Name
	o.page(at, "<dt>On the broker</dt><dd>1 message</dd>")
	o.does("/sources/{namespace}/{name}/policy", at+"/policy", "The policy is set.", "strategy", "manual")
	o.does("/sources/{namespace}/{name}/pause", at+"/pause", "paused", "do", "pause", "reason", "upgrade")
	o.does("/sources/{namespace}/{name}/pause", at+"/pause", "Pause…", "do", "continue")

	replay, err := letters.CreateReplay(o.s.t.Context(), deadletters.TopicReplayRequest{Source: "log",
		ReplaySpec: deadletters.ReplaySpec{Topic: "jobs"}})
	if err != nil {
		o.s.t.Fatal(err)
	}
	page := "/replays/" + replay.ReplayUUID.String()
	for _, step := range []struct{ do, want string }{{"start", "The replay starts."}, {"pause", "The replay is paused."},
		{"resume", "The replay goes on."}, {"cancel", "The replay is cancelled."}} {
		o.does(act, page+"/act", step.want, "do", step.do)
	}
}

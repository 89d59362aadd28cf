package inbox_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestNight is a night in which three causes fail 600 messages. Two are fixed, the waves stop because of the third, and
// continue after its fix. Nothing is lost or sent twice.
func TestNight(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		causes := []string{"Timeout", "Schema", "Price"}
		for n := 0; n < 600; n += 100 {
			var batch []inbox.Arrival
			for i := range 100 {
				batch = append(batch, dead(n+i, causes[(n+i)%3]))
			}
			r.die(batch...)
		}
		r.pass(time.Second)
		r.want("groups", len(r.groups()), 3)
		r.want("the first", r.groups()[0][len(r.groups()[0])-8:], "open 200")

		redrive, err := r.CreateRedrive(t.Context(), redrive.Request{By: inbox.By{Actor: "ann", Reason: "fixed"},
			Operation: model.OpRedrive, Selection: deadletter.Selection{Namespace: "default", Source: "orders"},
			Plan: deadletter.Plan{Canary: 30, Factor: 3, Largest: 300, Observe: time.Minute},
			Stop: deadletter.StopRule{ReturnedShare: 0.1}, Start: true})
		if err != nil {
			t.Fatal(err)
		}
		r.want("frozen", redrive.Total, 600)
		r.pass(time.Second)
		r.want("the canary", len(r.broker.sent), 30)

		// a third of the canary comes back
		for i, id := range r.broker.sent[:30] {
			if i%3 == 2 {
				r.want("came back", r.die(back(r.letter(mustID(t, id)), "Price"))[0].Status, model.Returned)
			}
		}
		r.pass(2 * time.Minute)
		halted, err := r.Redrive(t.Context(), redrive.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.want("state", halted.State, model.RedriveHalted)
		r.want("returned", halted.Counts.Returned, 10)
		if halted.Halt == "" {
			t.Error("it does not say why it was halted")
		}
		r.pass(time.Hour)
		r.want("sent while halted", len(r.broker.sent), 30)

		if _, err := r.ActOnRedrive(t.Context(), redrive.ID, model.ResumeRedrive, inbox.By{Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			r.pass(time.Minute)
		}
		done, err := r.Redrive(t.Context(), redrive.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.want("state", done.State, model.RedriveDone)
		r.want("sent", done.Counts.Sent, 590)
		r.want("left", done.Counts.Pending+done.Counts.Sending+done.Counts.Failed+done.Counts.Skipped, 0)
		for id, n := range r.broker.deliveries() {
			if n != 1 {
				t.Errorf("letter %s was sent %d times", id, n)
			}
		}
		r.want("letters sent", len(r.broker.deliveries()), 600)
		r.want("groups", joined(r.groups())[:14], "Price open 10;"[:14])
	})
}

func mustID(t *testing.T, s string) task.ID {
	t.Helper()
	id, err := task.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A redelivered message is a duplicate, one that dies after a send is the same letter, and one sent too often is
// parked.
func TestCaptureOnce(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := r.die(placed(1, "Timeout"))[0]
		r.want("first", first.Status, model.Captured)
		r.want("again", r.die(placed(1, "Timeout"))[0], capture.Receipt{Letter: first.Letter, Group: first.Group,
			Status: model.Duplicate})
		both := r.die(placed(2, "Timeout"), placed(2, "Timeout"))
		r.want("twice in one batch", both[1].Status, model.Duplicate)

		for round := 1; round <= 3; round++ {
			r.redrive(deadletter.Selection{Namespace: "default", IDs: []task.ID{first.Letter}})
			l := r.letter(first.Letter)
			r.want("sent back", l.State, model.LetterRedriven)
			died := back(l, "Schema")
			got := r.die(died)[0]
			r.want("returned", got.Status, model.Returned)
			r.want("the same letter", got.Letter, first.Letter)
			r.want("delivered again", r.die(died)[0].Status, model.Duplicate)
			l = r.letter(first.Letter)
			r.want("occurrences", l.Occurrences, round+1)
			r.want("parked", l.Parked, round == 3)
		}
		_, err := r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive,
			Selection: deadletter.Selection{Namespace: "default", IDs: []task.ID{first.Letter}}, Start: true})
		r.refused(err, task.Conflict)
		story, err := r.Letter(t.Context(), first.Letter)
		if err != nil {
			t.Fatal(err)
		}
		r.want("history", len(story.Occurrences), 4)
	})
}

func (r *rig) redrive(s deadletter.Selection) *deadletter.Redrive {
	r.t.Helper()
	made, err := r.CreateRedrive(r.t.Context(), redrive.Request{Operation: model.OpRedrive, Selection: s,
		Start: true})
	if err != nil {
		r.t.Fatal(err)
	}
	r.pass(time.Second)
	return made
}

// A failing task and a failing consumer are in one list, and one redrive sends both.
func TestTasksInTheInbox(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		w, err := protocol.Of(r.client).RegisterWorker(t.Context(), protocol.WorkerRegistration{Name: "w",
			Namespaces: []string{protocol.AllNamespaces}})
		if err != nil {
			t.Fatal(err)
		}
		none := 0
		for range 3 {
			if _, err := r.client.Submit(t.Context(), tasker.TaskRequest{TaskType: "ship", MaxRetries: &none,
				Context: json.RawMessage(`{}`)}); err != nil {
				t.Fatal(err)
			}
		}
		settle := func(status string) int {
			polled, err := protocol.Of(r.client).Poll(t.Context(),
				protocol.PollRequest{WorkerID: w.WorkerID, Capacity: 10, Start: true})
			if err != nil {
				t.Fatal(err)
			}
			var results []protocol.StepResult
			for _, s := range polled.Steps {
				res := protocol.StepResult{StepUUID: s.StepUUID, Token: s.Token, Status: status}
				if status == protocol.ResultFailed {
					res.Error = &tasker.Failure{Type: "Timeout", Message: "Timeout of order 7", Retryable: new(bool)}
				}
				results = append(results, res)
			}
			if len(results) > 0 {
				if _, err := protocol.Of(r.client).Settle(t.Context(),
					protocol.SettleRequest{WorkerID: w.WorkerID, Results: results}); err != nil {
					t.Fatal(err)
				}
			}
			return len(results)
		}
		r.want("failed", settle(protocol.ResultFailed), 3)
		r.die(dead(1, "Timeout"))
		r.pass(time.Second)
		r.want("one group", joined(r.groups()), "Timeout open 4")

		redrive := r.redrive(deadletter.Selection{Namespace: "default"})
		r.want("frozen", redrive.Total, 4)
		if w, err = protocol.Of(r.client).RegisterWorker(t.Context(), protocol.WorkerRegistration{Name: "w2",
			Namespaces: []string{protocol.AllNamespaces}}); err != nil {
			t.Fatal(err) // the breaker of the first one is open
		}
		r.pass(time.Second) // the timers of the replayed steps
		r.want("replayed", settle(protocol.ResultCompleted), 3)
		r.pass(time.Hour)
		done, err := r.Redrive(t.Context(), redrive.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.want("state", done.State, model.RedriveDone)
		r.want("counts", []int{done.Counts.Completed, done.Counts.Sent}, []int{3, 1})
		r.pass(time.Second)
		r.want("nothing is open", joined(r.groups()), "Timeout open 0")
	})
}

// A reporting program cannot make the server call a URL.
func TestReportedOriginIsNoTarget(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		report := dead(1, "Timeout").Report
		report.Origin = "http://169.254.169.254/latest"
		if _, err := r.Report(t.Context(), "default", "web", []inbox.Report{report}); err != nil {
			t.Fatal(err)
		}
		_, err := r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive,
			Selection: deadletter.Selection{Namespace: "default", Source: "web"}, Start: true})
		r.refused(err, task.Invalid)
	})
}

// A group shows the letters of merged groups, and a redrive takes them too, until the merge is undone.
func TestMergedGroups(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		a := r.die(dead(1, "Timeout"), dead(2, "Timeout"))[0].Group
		b := r.die(dead(3, "Schema"), dead(4, "Schema"), dead(5, "Schema"))[0].Group
		r.pass(time.Second)
		if _, err := r.MergeGroups(t.Context(), a, []deadletter.GroupID{b}, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		story, err := r.Group(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		r.want("open letters", story.Group.OpenLetters, 5)
		of := deadletter.Selection{Namespace: "default", Groups: []deadletter.GroupID{a}}
		page, err := r.Letters(t.Context(), inbox.LetterFilter{Selection: of, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		r.want("letters", len(page.Letters), 5)
		r.want("frozen", r.redrive(of).Total, 5)
		if _, err := r.UnmergeGroup(t.Context(), b, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		_, err = r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive, Selection: of})
		r.refused(err, task.Conflict) // nothing is left
	})
}

// A resolved group opens when it fails again, with a note.
func TestRegression(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		id := r.die(dead(1, "Timeout"))[0].Group
		r.pass(time.Hour)
		if _, err := r.ChangeGroup(t.Context(), id, groups.GroupChange{State: model.GroupResolved,
			ResolvedIn: "1.4"}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Hour)
		r.want("resolved", joined(r.groups()), "Timeout resolved 1")
		r.die(dead(2, "Timeout"))
		r.pass(time.Second)
		story, err := r.Group(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		r.want("state", story.Group.State, model.GroupOpen)
		r.want("a regression", []any{story.Group.Regression, story.Group.Regressions}, []any{true, 1})
		r.want("the thread", story.Notes[0].Kind, "regression")
		r.want("time to resolve", []int64{story.Group.OpenFor, int64(story.Group.Resolutions)},
			[]int64{time.Hour.Microseconds(), 1})
	})
}

// A preview shows the edit, and the original is kept. The edited letter's death opens it again; a message changed by
// its consumer is another letter that continues it.
func TestEditDiff(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		a := dead(1, "Schema")
		a.Content = deadletter.Content{Key: []byte("k"), Payload: []byte(`{"order":1,"price":"12"}`),
			Headers: []deadletter.Header{{Name: "trace", Value: []byte("t1")}, {Name: "kind", Value: []byte("new")}}}
		id := r.die(a)[0].Letter
		edit := &deadletter.Edit{Patch: []byte(`{"price":12}`), DropHeaders: []string{"trace"},
			SetHeaders: []deadletter.Header{{Name: "kind", Value: []byte("fixed")}}}
		request := redrive.Request{Operation: model.OpRedrive, Edit: edit, Start: true,
			Selection: deadletter.Selection{Namespace: "default", IDs: []task.ID{id}}}
		preview, err := r.PreviewRedrive(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		var changes []string
		for _, c := range preview.Samples[0].Changes {
			changes = append(changes, c.Pointer+": "+c.Before+" -> "+c.After)
		}
		slices.Sort(changes)
		r.want("changes", joined(changes), `/price: "12" -> 12; header kind: new -> fixed; header trace: t1 -> `)
		r.want("nothing is stored", r.letter(id).Edited == nil, true)

		if _, err := r.CreateRedrive(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.want("sent", string(r.broker.got[id.String()]), `{"order":1,"price":12}`)
		l := r.letter(id)
		r.want("the original", string(l.Original.Payload), `{"order":1,"price":"12"}`)

		died := back(l, "Price")
		died.Content.Payload = []byte(`{"order":1,"price":12,"tried":true}`)
		changed := r.die(died)[0]
		r.want("something else", changed.Status, model.Captured)
		r.want("its link", r.letter(changed.Letter).Link, deadletter.Link{Kind: deadletter.LinkHeader, Letter: id})
		r.want("its sends", r.letter(changed.Letter).Sends(), 1)
		r.want("comes back", r.die(back(l, "Price"))[0].Status, model.Duplicate) // at the same position
		again := back(l, "Price")
		again.Position = "another"
		r.want("comes back", r.die(again)[0], capture.Receipt{Letter: id, Group: r.letter(id).Group, Status: model.Returned})
		cleared, err := r.EditLetter(t.Context(), id, letters.LetterEdit{Clear: true})
		if err != nil {
			t.Fatal(err)
		}
		r.want("without the edit", string(cleared.Outgoing().Payload), `{"order":1,"price":"12"}`)
	})
}

package apitest_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

func reported(t *testing.T, s *server, namespace string, messages ...string) []deadletters.Receipt {
	t.Helper()
	req := deadletters.ReportRequest{Namespace: namespace, Source: "billing"}
	for _, id := range messages {
		r := deadletters.Report{MessageID: id, Origin: "orders", Handler: "charge", Attempts: 3,
			Failure: deadletters.LetterFailure{Type: "CardDeclined", Message: "card 4711 was declined"}}
		r.SetPayload([]byte(`{"order":"` + id + `","n":12345678901234567890}`))
		req.Reports = append(req.Reports, r)
	}
	receipts, err := deadletters.Of(s.Client).Report(s.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return receipts
}

// TestDeadLetters takes letters through the inbox: reported, grouped, edited, discarded, restored.
func TestDeadLetters(t *testing.T) { onEveryStore(t, testDeadLetters) }

func testDeadLetters(t *testing.T, s *server) {
	b := deadletters.Of(s.Client)
	receipts := reported(t, s, "", "a", "b", "c")
	if receipts[0].Status != deadletters.Captured || receipts[0].GroupID != receipts[2].GroupID {
		t.Fatalf("receipts are %+v", receipts)
	}
	again := reported(t, s, "", "c", "b")
	if again[0].Status != deadletters.Duplicate || again[0].LetterUUID != receipts[2].LetterUUID {
		t.Errorf("a repeated report is %+v", again)
	}
	await.Until(t, "counting the failures", func() bool {
		page, err := b.Groups(s.ctx, deadletters.GroupFilter{OpenOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Groups) == 1 && page.Groups[0].Failures == 3 && page.Groups[0].OpenLetters == 3
	})
	story, err := b.Group(s.ctx, receipts[0].GroupID)
	if err != nil || story.Sample == nil || len(story.Why) == 0 || len(story.Hours) != 1 {
		t.Fatalf("%v: the group is %+v", err, story)
	}

	id := receipts[0].LetterUUID
	letter, err := b.Letter(s.ctx, id)
	if err != nil || string(letter.Original.Payload) != `{"order":"a","n":12345678901234567890}` ||
		len(letter.History) != 1 {
		t.Fatalf("%v: the letter is %+v", err, letter)
	}
	edited, err := b.EditLetter(s.ctx, id, deadletters.LetterEdit{Edit: deadletters.Edit{
		Patch: json.RawMessage(`{"n":null}`)}, Act: deadletters.Act{IfMatch: letter.ETag, Reason: "typo"}})
	if err != nil || edited.Edited == nil || string(edited.Edited.Payload) != `{"order":"a"}` {
		t.Fatalf("%v: the edited letter is %+v", err, edited)
	}
	_, err = b.DiscardLetter(s.ctx, id, deadletters.Act{IfMatch: letter.ETag, Reason: "stale"})
	if tasker.ErrorCode(err) != tasker.CodeConflict {
		t.Errorf("a discard of another version is answered %v", err)
	}
	if _, err := b.DiscardLetter(s.ctx, id, deadletters.Act{Reason: "test order"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.EditLetter(s.ctx, id, deadletters.LetterEdit{Clear: true}); tasker.ErrorCode(err) !=
		tasker.CodeWrongState {
		t.Errorf("an edit of a discarded letter is answered %v", err)
	}
	if restored, err := b.RestoreLetter(s.ctx, id, deadletters.Act{}); err != nil || restored.State != "open" {
		t.Fatalf("%v: restored %+v", err, restored)
	}
	discardInWaves(t, s, receipts[0].GroupID)
}

// discardInWaves discards the three letters of a group, one in the first wave.
func discardInWaves(t *testing.T, s *server, group string) {
	t.Helper()
	b := deadletters.Of(s.Client)
	req := deadletters.RedriveRequest{Operation: deadletters.OpDiscard, Plan: deadletters.Plan{Canary: 1, Factor: 2,
		ObserveSeconds: 0.01}, Selection: deadletters.Selection{Namespace: "default", Groups: []string{group},
		Kind: deadletters.KindLetter}, Act: deadletters.Act{Reason: "old"}}
	preview, err := b.PreviewRedrive(s.ctx, req)
	if err != nil || preview.Total != 3 || len(preview.Problems) > 0 {
		t.Fatalf("%v: the preview is %+v", err, preview)
	}
	redrive, err := b.CreateRedrive(s.ctx, req)
	if err != nil || redrive.State != deadletters.RedriveDraft || redrive.Total != 3 {
		t.Fatalf("%v: the redrive is %+v", err, redrive)
	}
	if _, err := b.ActOnRedrive(
		s.ctx,
		redrive.RedriveUUID,
		deadletters.RedriveAct{Action: deadletters.ResumeRedrive},
	); err == nil {
		t.Error("a draft could be resumed")
	}
	if _, err := b.ActOnRedrive(s.ctx, redrive.RedriveUUID,
		deadletters.RedriveAct{Action: deadletters.StartRedrive}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the end of the redrive", func() bool {
		redrive, err = b.Redrive(s.ctx, redrive.RedriveUUID)
		if err != nil {
			t.Fatal(err)
		}
		return redrive.State == deadletters.RedriveDone
	})
	items, err := b.RedriveItems(s.ctx, redrive.RedriveUUID, deadletters.ItemFilter{State: deadletters.ItemCompleted})
	if err != nil || len(items.Items) != 3 || redrive.Counts.Completed != 3 {
		t.Errorf("%v: items are %+v of %+v", err, items, redrive.Counts)
	}
	exported := 0
	for letter, err := range b.ExportLetters(s.ctx, deadletters.LetterFilter{Selection: deadletters.Selection{
		State: deadletters.LetterDiscarded}}) {
		if err != nil || letter.PurgeAt == nil || letter.Reason != "old" || len(letter.Original.Payload) == 0 {
			t.Fatalf("%v: exported %+v", err, letter)
		}
		exported++
	}
	if exported != 3 {
		t.Errorf("%d letters were exported", exported)
	}
}

// TestDeadLettersOfOneNamespace: a key limited to a namespace learns nothing of another.
func TestDeadLettersOfOneNamespace(t *testing.T) { onEveryStore(t, testDeadLettersOfOneNamespace) }

func testDeadLettersOfOneNamespace(t *testing.T, s *server) {
	own, other := reported(t, s, "video", "a")[0], reported(t, s, "audio", "a")[0]
	if own.GroupID == other.GroupID || own.LetterUUID == other.LetterUUID {
		t.Fatalf("two namespaces share %+v and %+v", own, other)
	}
	key := deadletters.Of(s.keyed(t, []string{"admin"}, "video"))
	page, err := key.Letters(s.ctx, deadletters.LetterFilter{})
	if err != nil || len(page.Letters) != 1 || page.Letters[0].LetterUUID != own.LetterUUID {
		t.Errorf("%v: letters are %+v", err, page)
	}
	sources, err := key.Sources(s.ctx, "")
	if err != nil || len(sources) != 1 || sources[0].Namespace != "video" {
		t.Errorf("%v: sources are %+v", err, sources)
	}
	redrive, err := deadletters.Of(s.Client).CreateRedrive(s.ctx, deadletters.RedriveRequest{
		Operation: deadletters.OpDiscard, Selection: deadletters.Selection{Namespace: "audio"}})
	if err != nil {
		t.Fatal(err)
	}
	act := deadletters.Act{Reason: "x"}
	for name, do := range map[string]func() error{
		"Letter": func() error { _, err := key.Letter(s.ctx, other.LetterUUID); return err },
		"Edit": func() error {
			_, err := key.EditLetter(s.ctx, other.LetterUUID, deadletters.LetterEdit{Clear: true})
			return err
		},
		"Discard": func() error { _, err := key.DiscardLetter(s.ctx, other.LetterUUID, act); return err },
		"Restore": func() error { _, err := key.RestoreLetter(s.ctx, other.LetterUUID, act); return err },
		"Unknown": func() error { _, err := key.Letter(s.ctx, uuid.New()); return err },
		"Group":   func() error { _, err := key.Group(s.ctx, other.GroupID); return err },
		"Change": func() error {
			_, err := key.ChangeGroup(s.ctx, other.GroupID, deadletters.GroupChange{Note: "x"})
			return err
		},
		"MergeInto": func() error {
			_, err := key.MergeGroups(s.ctx, other.GroupID, deadletters.MergeRequest{Groups: []string{own.GroupID}})
			return err
		},
		"Merge": func() error {
			_, err := key.MergeGroups(s.ctx, own.GroupID, deadletters.MergeRequest{Groups: []string{other.GroupID}})
			return err
		},
		"Redrive": func() error { _, err := key.Redrive(s.ctx, redrive.RedriveUUID); return err },
		"Items": func() error {
			_, err := key.RedriveItems(s.ctx, redrive.RedriveUUID, deadletters.ItemFilter{})
			return err
		},
		"Act": func() error {
			_, err := key.ActOnRedrive(s.ctx, redrive.RedriveUUID, deadletters.RedriveAct{Action: deadletters.CancelRedrive})
			return err
		},
		"TestSource": func() error { _, err := key.TestSource(s.ctx, "audio", "billing"); return err },
		"Drop":       func() error { return key.DropSource(s.ctx, "audio", "billing", act) },
	} {
		if code := tasker.ErrorCode(do()); code != tasker.CodeNotFound {
			t.Errorf("%s of another namespace is answered %s", name, code)
		}
	}
	if l, err := deadletters.Of(s.Client).Letter(s.ctx, other.LetterUUID); err != nil || l.State != "open" {
		t.Errorf("%v: the letter of the other namespace became %+v", err, l)
	}
}

// TestChangeGroups changes groups by filter and by name: other namespaces are out of reach, a dry run changes nothing,
// an empty request is refused.
func TestChangeGroups(t *testing.T) { onEveryStore(t, testChangeGroups) }

func testChangeGroups(t *testing.T, s *server) {
	own, other := reported(t, s, "video", "a")[0], reported(t, s, "audio", "a")[0]
	key, owner := deadletters.Of(s.keyed(t, []string{"admin"}, "video")), "payments"
	assign := deadletters.GroupChange{Owner: &owner}
	change := func(c deadletters.GroupsChange) []deadletters.GroupResult {
		t.Helper()
		out, err := key.ChangeGroups(s.ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return out.Results
	}
	owned := func(id, want string) {
		t.Helper()
		if g, err := deadletters.Of(s.Client).Group(s.ctx, id); err != nil || g.Owner != want {
			t.Errorf("%v: the group belongs to %q, want %q", err, g.Owner, want)
		}
	}
	open := &deadletters.GroupSelection{State: deadletters.GroupOpen}
	if r := change(deadletters.GroupsChange{Filter: open, DryRun: true, GroupChange: assign}); len(r) != 1 ||
		r[0].GroupID != own.GroupID || r[0].Error != nil {
		t.Errorf("a dry run answers %+v", r)
	}
	owned(own.GroupID, "")
	r := change(deadletters.GroupsChange{Groups: []string{own.GroupID, other.GroupID, own.GroupID}, GroupChange: assign})
	if len(r) != 2 || r[0].Error != nil || r[1].Error == nil || r[1].Error.Code != tasker.CodeNotFound {
		t.Errorf("named groups: answered %+v", r)
	}
	owned(own.GroupID, owner)
	owned(other.GroupID, "")
	ack := deadletters.GroupChange{State: deadletters.GroupAcknowledged}
	byOwner := &deadletters.GroupSelection{Owner: owner}
	for i, code := range []tasker.Code{"", tasker.CodeWrongState} {
		r := change(deadletters.GroupsChange{Filter: byOwner, GroupChange: ack})
		if len(r) != 1 || (r[0].Error != nil) != (code != "") || r[0].Error != nil && r[0].Error.Code != code {
			t.Errorf("change %d by a filter: answered %+v", i, r)
		}
	}
	for name, c := range map[string]deadletters.GroupsChange{
		"Nothing":  {GroupChange: ack},
		"Both":     {Groups: []string{own.GroupID}, Filter: open, GroupChange: ack},
		"Empty":    {Filter: &deadletters.GroupSelection{}, GroupChange: ack},
		"NoChange": {Filter: open},
		"Match":    {Filter: open, GroupChange: deadletters.GroupChange{Note: "x", Act: deadletters.Act{IfMatch: `"1"`}}},
		"BadID":    {Groups: []string{"x"}, GroupChange: ack},
	} {
		if _, err := key.ChangeGroups(s.ctx, c); tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("%s: answered %v", name, err)
		}
	}
	foreign := &deadletters.GroupSelection{Namespace: "audio"}
	if _, err := key.ChangeGroups(s.ctx, deadletters.GroupsChange{Filter: foreign, GroupChange: ack}); err == nil {
		t.Error("a filter of another namespace is not refused")
	}
}

// TestHostileLetters: any message becomes a letter that can be read.
func TestHostileLetters(t *testing.T) { onEveryStore(t, testHostileLetters) }

func testHostileLetters(t *testing.T, s *server) {
	b := deadletters.Of(s.Client)
	for name, payload := range map[string]string{
		"Empty": "", "NUL": "\x00", "Binary": "\xff\xfe\x00", "ANSI": "\x1b[2J\x1b]0;x\x07", "Null": "null",
		"NULInJSON": `{"a":"\u0000"}`, "Deep": strings.Repeat("[", 600) + strings.Repeat("]", 600),
		"Large": strings.Repeat("x", 3<<20),
	} {
		r := deadletters.Report{MessageID: name, Origin: "orders",
			Failure: deadletters.LetterFailure{Message: payload + "!", Stack: payload}}
		r.SetPayload([]byte(payload))
		r.SetKey([]byte(payload[:min(len(payload), 100)]))
		receipts, err := b.Report(s.ctx, deadletters.ReportRequest{Source: "hostile", Reports: []deadletters.Report{r}})
		if err != nil {
			if tasker.ErrorCode(err) != tasker.CodeInvalid || name == "Large" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		letter, err := b.Letter(s.ctx, receipts[0].LetterUUID)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := string(letter.Original.PayloadBytes())
		if whole := got == payload; !whole && !(letter.Cut && strings.HasPrefix(payload, got)) ||
			letter.SizeBytes != len(payload) {
			t.Errorf("%s: %d of %d bytes are kept, cut: %v", name, len(got), len(payload), letter.Cut)
		}
	}
}

// TestReportsAtOnce: concurrent reports of one message make one letter.
func TestReportsAtOnce(t *testing.T) { onEveryStore(t, testReportsAtOnce) }

func testReportsAtOnce(t *testing.T, s *server) {
	const callers = 8
	type answer struct {
		receipts []deadletters.Receipt
		err      error
	}
	answers := make(chan answer, callers)
	for range callers {
		go func() {
			receipts, err := deadletters.Of(s.Client).Report(s.ctx, deadletters.ReportRequest{Source: "billing",
				IdempotencyKey: "night-1", Reports: []deadletters.Report{
					deadletters.NewReport("orders", []byte(`{"n":1}`), tasker.Errorf(tasker.CodeInternal, "no")),
					deadletters.NewReport("orders", []byte(`{"n":1}`), tasker.Errorf(tasker.CodeInternal, "no"))}})
			answers <- answer{receipts, err}
		}()
	}
	captured, letters := 0, map[uuid.UUID]bool{}
	for range callers {
		a := <-answers
		if a.err != nil {
			t.Error(a.err)
			continue
		}
		for _, r := range a.receipts {
			letters[r.LetterUUID] = true
			if r.Status == deadletters.Captured {
				captured++
			}
		}
	}
	if captured != 2 || len(letters) != 2 {
		t.Errorf("%d letters were captured, %d are known; want the two of the batch", captured, len(letters))
	}
}

// TestOmittedPayloads: a list marks omitted payloads, so that they do not look empty.
func TestOmittedPayloads(t *testing.T) { onEveryStore(t, testOmittedPayloads) }

func testOmittedPayloads(t *testing.T, s *server) {
	b := deadletters.Of(s.Client)
	req := deadletters.ReportRequest{Source: "billing"}
	sizes := []int{0, 1024, 1025}
	for _, n := range sizes {
		r := deadletters.Report{MessageID: strconv.Itoa(n), Failure: deadletters.LetterFailure{Message: "no"}}
		r.SetPayload([]byte(strings.Repeat("x", n)))
		req.Reports = append(req.Reports, r)
	}
	if _, err := b.Report(s.ctx, req); err != nil {
		t.Fatal(err)
	}
	page, err := b.Letters(s.ctx, deadletters.LetterFilter{})
	if err != nil || len(page.Letters) != len(sizes) {
		t.Fatalf("%v: %d letters", err, len(page.Letters))
	}
	for _, l := range page.Letters {
		if want := l.SizeBytes > 1024; l.PayloadOmitted != want || want != (len(l.Original.PayloadBase64) != l.SizeBytes) {
			t.Errorf("in the list, of %d bytes: omitted %t, %d bytes", l.SizeBytes, l.PayloadOmitted,
				len(l.Original.PayloadBase64))
		}
		whole, err := b.Letter(s.ctx, l.LetterUUID)
		if err != nil || whole.PayloadOmitted || len(whole.Original.PayloadBase64) != whole.SizeBytes {
			t.Errorf("alone, of %d bytes: %v, omitted %t", l.SizeBytes, err, whole.PayloadOmitted)
		}
	}
}

package httpapi_test

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

var (
	letterID  = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f80")
	redriveID = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f81")
	replayID  = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f82")
)

const groupID = "00000000000000ab"

type fakeInbox struct{ f *fake }

var _ deadletters.Backend = fakeInbox{}

func cannedLetter() *deadletters.Letter {
	retryable := true
	l := &deadletters.Letter{
		LetterUUID: letterID, Namespace: "default", Source: "billing", Origin: "orders", Format: "http",
		State: deadletters.LetterOpen, StateAt: noon, GroupID: groupID,
		Failure: deadletters.LetterFailure{Type: "Timeout", Message: "no <answer>", Retryable: &retryable,
			Class: tasker.ClassTransient},
		Occurrences: 1, Attempts: 3, FirstAt: noon, LastAt: noon, CapturedAt: noon, SizeBytes: 7, ETag: "4",
	}
	l.Original.SetPayload([]byte(`{"n":12345678901234567890}`))
	l.Original.Headers = []deadletters.Header{deadletters.NewHeader("a", []byte("b")),
		deadletters.NewHeader("a", []byte{0xff})}
	edited := deadletters.Content{}
	edited.SetPayload([]byte{0xff, 0})
	l.Edited = &edited
	return l
}

func cannedGroup() *deadletters.Group {
	return &deadletters.Group{GroupID: groupID, Namespace: "default", Title: "Timeout: no answer", State: "open",
		StateAt: noon, FirstAt: noon, LastAt: noon, Failures: 9, OpenLetters: 4, Ignore: &deadletters.Ignore{Until: &noon},
		Hours: []deadletters.Hour{{At: noon, Failures: 9}}, ETag: "2"}
}

func cannedRedrive() *deadletters.Redrive {
	return &deadletters.Redrive{RedriveUUID: redriveID, Namespace: "default", Operation: deadletters.OpRedrive,
		Selection: deadletters.Selection{Kind: deadletters.KindLetter, IDs: []uuid.UUID{letterID}},
		Edit:      &deadletters.Edit{Patch: json.RawMessage(`[{"op":"remove","path":"/a"}]`)},
		State:     deadletters.RedriveDraft, StateAt: noon, Total: 3, Counts: deadletters.ItemCounts{Pending: 3},
		CreatedAt: noon, ETag: "3"}
}

func cannedSource() *deadletters.Source {
	return &deadletters.Source{Namespace: "default", Name: "billing", Driver: "http", Targets: []string{"orders*"},
		ETag: "1"}
}

func (b fakeInbox) Report(_ context.Context, req deadletters.ReportRequest) ([]deadletters.Receipt, error) {
	out := make([]deadletters.Receipt, len(req.Reports))
	for i := range out {
		out[i] = deadletters.Receipt{LetterUUID: letterID, GroupID: groupID, Status: deadletters.Captured}
	}
	return out, b.f.note(req)
}

func (b fakeInbox) Letters(_ context.Context, f deadletters.LetterFilter) (*deadletters.LetterPage, error) {
	return &deadletters.LetterPage{Letters: []deadletters.Letter{*cannedLetter()}, NextCursor: letterID.String()},
		b.f.note(f)
}

func (b fakeInbox) Letter(_ context.Context, id uuid.UUID) (*deadletters.LetterStory, error) {
	return &deadletters.LetterStory{Letter: *cannedLetter(), Group: cannedGroup(), History: []deadletters.Occurrence{
		{No: 1, At: noon, GroupID: groupID, Failure: cannedLetter().Failure}}}, b.f.note(id)
}

func (b fakeInbox) ExplainLetter(_ context.Context, id uuid.UUID) (*deadletters.StateExplanation, error) {
	return &deadletters.StateExplanation{LetterUUID: &id, State: "open", Summary: "The letter waits."},
		b.f.note(id)
}

func (b fakeInbox) ExplainRedrive(_ context.Context, id uuid.UUID) (*deadletters.StateExplanation, error) {
	return &deadletters.StateExplanation{RedriveUUID: &id, State: "halted", Summary: "It is halted."},
		b.f.note(id)
}

func (b fakeInbox) ExportLetters(_ context.Context, f deadletters.LetterFilter) iter.Seq2[*deadletters.Letter, error] {
	return func(yield func(*deadletters.Letter, error) bool) {
		if err := b.f.note(f); err != nil {
			yield(nil, err)
			return
		}
		if !yield(cannedLetter(), nil) {
			return
		}
		if b.f.item != nil {
			yield(nil, b.f.item)
			return
		}
		yield(cannedLetter(), nil)
	}
}

func (b fakeInbox) EditLetter(_ context.Context, _ uuid.UUID, edit deadletters.LetterEdit) (*deadletters.Letter,
	error,
) {
	return cannedLetter(), b.f.note(edit)
}

func (b fakeInbox) DiscardLetter(_ context.Context, _ uuid.UUID, act deadletters.Act) (*deadletters.Letter, error) {
	return cannedLetter(), b.f.note(act)
}

func (b fakeInbox) RestoreLetter(_ context.Context, _ uuid.UUID, act deadletters.Act) (*deadletters.Letter, error) {
	return cannedLetter(), b.f.note(act)
}

func (b fakeInbox) Groups(_ context.Context, f deadletters.GroupFilter) (*deadletters.GroupPage, error) {
	return &deadletters.GroupPage{Groups: []deadletters.Group{*cannedGroup()}, NextCursor: "on"}, b.f.note(f)
}

func (b fakeInbox) Group(_ context.Context, id string) (*deadletters.GroupStory, error) {
	return &deadletters.GroupStory{Group: *cannedGroup(), Sample: cannedLetter(),
		Notes: []deadletters.Note{{No: 1, At: noon, Kind: "note", Text: "known"}},
		Why:   []deadletters.Part{{Name: "type", Value: "Timeout"}}}, b.f.note(id)
}

func (b fakeInbox) ChangeGroup(_ context.Context, _ string, ch deadletters.GroupChange) (*deadletters.Group, error) {
	return cannedGroup(), b.f.note(ch)
}

func (b fakeInbox) ChangeGroups(_ context.Context, req deadletters.GroupsChange) (*deadletters.ChangedGroups, error) {
	return &deadletters.ChangedGroups{Results: []deadletters.GroupResult{{GroupID: cannedGroup().GroupID,
		State: deadletters.GroupOpen}}}, b.f.note(req)
}

func (b fakeInbox) MergeGroups(_ context.Context, _ string, req deadletters.MergeRequest) (*deadletters.Group, error) {
	return cannedGroup(), b.f.note(req)
}

func (b fakeInbox) UnmergeGroup(_ context.Context, _ string, act deadletters.Act) (*deadletters.Group, error) {
	return cannedGroup(), b.f.note(act)
}

func (b fakeInbox) PreviewRedrive(_ context.Context, req deadletters.RedriveRequest) (*deadletters.Preview, error) {
	return &deadletters.Preview{Total: 3, Samples: []deadletters.PreviewItem{{Kind: deadletters.KindLetter, ID: letterID,
		Destination: "orders", Changes: []deadletters.Change{{Pointer: "/n", Before: "1", After: "2"}}}},
		Destinations: []deadletters.DestinationCheck{{Source: "billing", Destination: "orders", Letters: 3}},
		Problems:     []tasker.Detail{{Location: "/destination", Message: "does not exist"}}}, b.f.note(req)
}

func (b fakeInbox) CreateRedrive(_ context.Context, req deadletters.RedriveRequest) (*deadletters.Redrive, error) {
	return cannedRedrive(), b.f.note(req)
}

func (b fakeInbox) ActOnRedrive(_ context.Context, _ uuid.UUID, act deadletters.RedriveAct) (*deadletters.Redrive,
	error,
) {
	return cannedRedrive(), b.f.note(act)
}

func (b fakeInbox) Redrive(_ context.Context, id uuid.UUID) (*deadletters.Redrive, error) {
	return cannedRedrive(), b.f.note(id)
}

func (b fakeInbox) Redrives(_ context.Context, f deadletters.RedriveFilter) (*deadletters.RedrivePage, error) {
	return &deadletters.RedrivePage{Redrives: []deadletters.Redrive{*cannedRedrive()}}, b.f.note(f)
}

func (b fakeInbox) RedriveItems(_ context.Context, _ uuid.UUID, f deadletters.ItemFilter) (*deadletters.ItemPage,
	error,
) {
	return &deadletters.ItemPage{Items: []deadletters.Item{{No: 7, Kind: deadletters.KindLetter, ID: letterID,
		State: deadletters.ItemFailed, Message: "no such queue"}}}, b.f.note(f)
}

func (b fakeInbox) SaveSource(_ context.Context, req deadletters.SourceRequest) (*deadletters.Source, error) {
	return cannedSource(), b.f.note(req)
}

func (b fakeInbox) DropSource(_ context.Context, _, _ string, act deadletters.Act) error {
	return b.f.note(act)
}

func (b fakeInbox) Sources(_ context.Context, namespace string) ([]deadletters.SourceStatus, error) {
	return []deadletters.SourceStatus{{Source: *cannedSource(), State: deadletters.SourceReading, Open: 4}},
		b.f.note(namespace)
}

func (b fakeInbox) Source(_ context.Context, namespace, name string) (*deadletters.SourceStatus, error) {
	return &deadletters.SourceStatus{Source: *cannedSource(), State: deadletters.SourceReading, Open: 4,
		Policies: []deadletters.Policy{{Source: name, Strategy: deadletters.Manual}}}, b.f.note(namespace + "/" + name)
}

func (b fakeInbox) TestSource(_ context.Context, namespace, name string) (*deadletters.SourceStatus, error) {
	return &deadletters.SourceStatus{Source: *cannedSource(), State: deadletters.SourceLost, Error: "refused"},
		b.f.note(namespace + "/" + name)
}

func (b fakeInbox) PauseSource(_ context.Context, _, _ string, paused bool, act deadletters.Act) (*deadletters.Source,
	error,
) {
	s := cannedSource()
	s.Paused = paused
	return s, b.f.note(act)
}

func (b fakeInbox) SavePolicy(_ context.Context, req deadletters.PolicyRequest) (*deadletters.Policy, error) {
	p := req.Policy
	p.ETag = "2"
	return &p, b.f.note(req)
}

func (b fakeInbox) DropPolicy(_ context.Context, _, _, origin string, _ deadletters.Act) error {
	return b.f.note(origin)
}

func (b fakeInbox) Policies(_ context.Context, namespace string) ([]deadletters.Policy, error) {
	return []deadletters.Policy{{Source: "billing", Strategy: deadletters.Manual}}, b.f.note(namespace)
}

func cannedRule() *deadletters.SavedRule {
	return &deadletters.SavedRule{Rule: deadletters.Rule{Namespace: "default", Name: "tenants", When: "true",
		GroupBy: []string{"code"}}, Version: 2, Since: 1, SavedAt: noon, ETag: "2", Failed: 3, LastError: "when: at 1:1: no"}
}

func (b fakeInbox) SaveRule(_ context.Context, req deadletters.RuleRequest) (*deadletters.SavedRule, error) {
	return cannedRule(), b.f.note(req)
}

func (b fakeInbox) DropRule(_ context.Context, _, _ string, act deadletters.Act) error {
	return b.f.note(act)
}

func (b fakeInbox) Rules(_ context.Context, namespace string) ([]deadletters.SavedRule, error) {
	return []deadletters.SavedRule{*cannedRule()}, b.f.note(namespace)
}

func (b fakeInbox) Rule(_ context.Context, namespace, name string) (*deadletters.RuleStory, error) {
	return &deadletters.RuleStory{SavedRule: *cannedRule(), Versions: []deadletters.SavedRule{*cannedRule()}},
		b.f.note(namespace + "/" + name)
}

func (b fakeInbox) TestRule(_ context.Context, test deadletters.RuleTest) (*deadletters.RuleTrial, error) {
	return &deadletters.RuleTrial{Tried: 1, Matched: 1, Items: []deadletters.RuleItem{{Kind: deadletters.KindLetter,
		ID: &letterID, Matched: true, GroupID: groupID, Title: "tenants: acme", Keys: []string{"acme"}}}}, b.f.note(test)
}

func (b fakeInbox) SplitGroup(_ context.Context, _ string, req deadletters.SplitRequest) (*deadletters.SavedRule,
	error,
) {
	return cannedRule(), b.f.note(req)
}

func (b fakeInbox) UnsplitGroup(_ context.Context, _ string, act deadletters.Act) (*deadletters.Group, error) {
	return cannedGroup(), b.f.note(act)
}

func (b fakeInbox) Webhooks(context.Context) ([]deadletters.Webhook, error) {
	return []deadletters.Webhook{{Name: "ops", URL: "https://hooks.example/...", Secrets: 1,
		Events: []deadletters.WebhookType{deadletters.WebhookGroupNew}}}, b.f.note("webhooks")
}

func (b fakeInbox) TestWebhook(_ context.Context, name string) (*deadletters.WebhookAnswer, error) {
	return &deadletters.WebhookAnswer{Name: name, MessageID: "m", Delivered: true, Status: 204}, b.f.note(name)
}

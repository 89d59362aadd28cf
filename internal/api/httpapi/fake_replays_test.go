package httpapi_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
)

func cannedReplay() *deadletters.TopicReplay {
	return &deadletters.TopicReplay{ReplayUUID: replayID, Namespace: "default", Source: "web",
		ReplaySpec: deadletters.ReplaySpec{Topic: "orders", Into: "inbox"}, State: deadletters.ReplayDraft, StateAt: noon,
		Counts:    deadletters.ReplayCounts{Letters: 3},
		Parts:     []deadletters.ReplayPart{{Partition: 1, From: 2, To: 9, Next: 5}},
		CreatedAt: noon, ETag: "1"}
}

func (b fakeInbox) PreviewReplay(_ context.Context, req deadletters.TopicReplayRequest) (
	*deadletters.ReplayPreview, error,
) {
	return &deadletters.ReplayPreview{Topic: "orders", Into: "inbox", Parts: cannedReplay().Parts,
		Samples: []deadletters.ReplaySample{{Partition: 1, Offset: 5, Key: "secret"}}}, b.f.note(req)
}

func (b fakeInbox) CreateReplay(_ context.Context, req deadletters.TopicReplayRequest) (
	*deadletters.TopicReplay, error,
) {
	return cannedReplay(), b.f.note(req)
}

func (b fakeInbox) ActOnReplay(_ context.Context, _ uuid.UUID, act deadletters.RedriveAct) (
	*deadletters.TopicReplay, error,
) {
	return cannedReplay(), b.f.note(act)
}

func (b fakeInbox) Replay(_ context.Context, id uuid.UUID) (*deadletters.TopicReplay, error,
) {
	return cannedReplay(), b.f.note(id)
}

func (b fakeInbox) Replays(_ context.Context, f deadletters.ReplayFilter) (*deadletters.ReplayPage, error,
) {
	return &deadletters.ReplayPage{Replays: []deadletters.TopicReplay{*cannedReplay()}}, b.f.note(f)
}

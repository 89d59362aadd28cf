package httpapi_test

import (
	"context"
	"encoding/json"

	"github.com/taskerhq/tasker/deadletters"
)

type fakeMessages struct{ f *fake }

var _ deadletters.TopicBackend = fakeMessages{}

var deadMessage = deadletters.DeadMessage{EventID: "event-1", Event: json.RawMessage(`{"a":1}`),
	OriginalTopic: "pod-events",
	Status:        deadletters.MessagePending, FailedAt: noon, LastFailedAt: noon, CreatedAt: noon, LastUpdated: noon,
	LetterUUID: letterID}

func (b fakeMessages) Stats(_ context.Context, namespace string) (*deadletters.MessageStats, error) {
	return &deadletters.MessageStats{ByStatus: deadletters.MessageCounts{Pending: 2},
		ByTopic:     []deadletters.TopicCount{{Topic: "pod-events", Count: 2, AvgRetryCount: 0.5}},
		ByEventType: []deadletters.TypeCount{}, Timestamp: noon}, b.f.note(namespace)
}

func (b fakeMessages) Messages(_ context.Context, f deadletters.MessageFilter) (*deadletters.MessagePage, error) {
	return &deadletters.MessagePage{Messages: []deadletters.DeadMessage{deadMessage}, Total: 1, Offset: f.Offset,
		Limit: f.Limit}, b.f.note(f)
}

func (b fakeMessages) Message(_ context.Context, of deadletters.MessageName) (*deadletters.DeadMessage, error) {
	m := deadMessage
	return &m, b.f.note(of)
}

func (b fakeMessages) Retry(_ context.Context, req deadletters.MessageRetry) (*deadletters.MessageRetryAnswer, error) {
	return &deadletters.MessageRetryAnswer{Total: 1, Successful: 1,
		Details: []deadletters.MessageRetryDetail{{EventID: "event-1", Status: "success"}}}, b.f.note(req)
}

func (b fakeMessages) SavePolicy(_ context.Context, req deadletters.TopicPolicy) (*deadletters.MessageDone, error) {
	return &deadletters.MessageDone{Message: "Retry policy set for topic " + req.Topic}, b.f.note(req)
}

func (b fakeMessages) Discard(_ context.Context, of deadletters.MessageName, _ deadletters.Act) (
	*deadletters.MessageDone, error,
) {
	return &deadletters.MessageDone{Message: "Message " + of.EventID + " discarded"}, b.f.note(of)
}

func (b fakeMessages) Topics(_ context.Context, namespace string) ([]deadletters.DeadTopic, error) {
	return []deadletters.DeadTopic{{Topic: "pod-events", TotalMessages: 2}}, b.f.note(namespace)
}

package httpapi_test

import (
	"context"
	"encoding/json"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/topicapi"
)

// fakeMessages answers everything about messages of topics as the fake does.
type fakeMessages struct{ f *fake }

var _ topicapi.Backend = fakeMessages{}

var deadMessage = topicapi.DeadMessage{EventID: "event-1", Event: json.RawMessage(`{"a":1}`), OriginalTopic: "pod-events",
	Status: topicapi.Pending, FailedAt: noon, LastFailedAt: noon, CreatedAt: noon, LastUpdated: noon, LetterUUID: letterID}

func (b fakeMessages) Stats(_ context.Context, namespace string) (*topicapi.MessageStats, error) {
	return &topicapi.MessageStats{ByStatus: topicapi.MessageCounts{Pending: 2},
		ByTopic:     []topicapi.TopicCount{{Topic: "pod-events", Count: 2, AvgRetryCount: 0.5}},
		ByEventType: []topicapi.TypeCount{}, Timestamp: noon}, b.f.note(namespace)
}

func (b fakeMessages) Messages(_ context.Context, f topicapi.Filter) (*topicapi.MessagePage, error) {
	return &topicapi.MessagePage{Messages: []topicapi.DeadMessage{deadMessage}, Total: 1, Offset: f.Offset,
		Limit: f.Limit}, b.f.note(f)
}

func (b fakeMessages) Message(_ context.Context, of topicapi.Name) (*topicapi.DeadMessage, error) {
	m := deadMessage
	return &m, b.f.note(of)
}

func (b fakeMessages) Retry(_ context.Context, req topicapi.MessageRetry) (*topicapi.MessageRetryAnswer, error) {
	return &topicapi.MessageRetryAnswer{Total: 1, Successful: 1,
		Details: []topicapi.MessageRetryDetail{{EventID: "event-1", Status: "success"}}}, b.f.note(req)
}

func (b fakeMessages) SavePolicy(_ context.Context, req topicapi.TopicPolicy) error {
	return b.f.note(req)
}

func (b fakeMessages) Discard(_ context.Context, of topicapi.Name, _ deadletters.Act) (*topicapi.DeadMessage, error) {
	m := deadMessage
	return &m, b.f.note(of)
}

func (b fakeMessages) Topics(_ context.Context, namespace string) ([]topicapi.DeadTopic, error) {
	return []topicapi.DeadTopic{{Topic: "pod-events", TotalMessages: 2}}, b.f.note(namespace)
}

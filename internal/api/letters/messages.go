package letters

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/compat"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/posturl"
)

type messages struct{ inbox *inbox.Inbox }

// NewMessages returns the Backend of an Inbox.
func NewMessages(in *inbox.Inbox) deadletters.TopicBackend { return &messages{in} }

var statusOf = map[model.LetterState]deadletters.MessageStatus{
	model.LetterOpen: deadletters.MessagePending, model.LetterScheduled: deadletters.MessageScheduled,
	model.LetterRedriving: deadletters.MessageScheduled,
	model.LetterRedriven:  deadletters.MessageRetried, model.LetterDiscarded: deadletters.MessageDiscarded,
}

func statesOf(status deadletters.MessageStatus) []model.LetterState {
	var out []model.LetterState
	for _, s := range model.LetterStates {
		if statusOf[s] == status {
			out = append(out, s)
		}
	}
	return out
}

func statusCounts(by map[model.LetterState]int) deadletters.MessageCounts {
	return deadletters.MessageCounts{Pending: by[model.LetterOpen], Retried: by[model.LetterRedriven],
		Scheduled: by[model.LetterScheduled] + by[model.LetterRedriving], Discarded: by[model.LetterDiscarded]}
}

func meanReplays(s *compat.TopicSample) float64 {
	if s.N == 0 {
		return 0
	}
	return float64(s.Replays) / float64(s.N)
}

func (b *messages) Stats(ctx context.Context, namespace string) (*deadletters.MessageStats, error) {
	return shown(shownStats)(b.inbox.TopicStats(ctx, within(namespace)))
}

func shownStats(s *compat.TopicStats) deadletters.MessageStats {
	out := deadletters.MessageStats{ByStatus: statusCounts(s.ByState), Timestamp: s.At.Time(),
		ByTopic: each(s.Topics, func(c compat.TopicCount) deadletters.TopicCount {
			return deadletters.TopicCount{Topic: c.Name, Count: c.Letters(), AvgRetryCount: meanReplays(&c.Sample)}
		}),
		ByEventType: each(s.Types, func(c compat.TopicCount) deadletters.TypeCount {
			return deadletters.TypeCount{EventType: c.Name, Count: c.Letters()}
		})}
	if w := s.Waiting; w.N > 0 {
		ages := deadletters.MessageAges{Min: max(s.At.Sub(w.NewestFirstAt).Seconds(), 0),
			Max: max(s.At.Sub(w.FirstAt).Seconds(), 0)}
		// FirstSum is in whole seconds.
		ages.Avg = min(max(float64(s.At)/1e6-float64(w.FirstSum)/float64(w.N), ages.Min), ages.Max)
		out.AgeStats = ages
	}
	return out
}

func (b *messages) Topics(ctx context.Context, namespace string) ([]deadletters.DeadTopic, error) {
	return shownList(shownTopic)(b.inbox.Topics(ctx, within(namespace)))
}

func shownTopic(c compat.TopicCount) deadletters.DeadTopic {
	return deadletters.DeadTopic{Topic: c.Name, TotalMessages: c.Letters(), Statuses: statusCounts(c.ByState),
		OldestMessage: c.Sample.FirstAt.Ptr(), NewestMessage: c.Sample.LastAt.Ptr(),
		AvgRetryCount: meanReplays(&c.Sample), MaxRetryCount: int(c.Sample.MaxReplay)}
}

func (b *messages) Messages(ctx context.Context, f deadletters.MessageFilter) (*deadletters.MessagePage, error) {
	filter := compat.TopicFilter{Namespace: within(f.Namespace), EventType: f.EventType}
	if f.Topic != "" {
		filter.Origin = &f.Topic
	}
	f.Limit = cmp.Or(f.Limit, messagesPage)
	if f.Status != "" {
		filter.States = statesOf(f.Status)
	}
	letters, total, err := b.inbox.TopicLetters(ctx, filter, f.Offset, f.Limit)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	return &deadletters.MessagePage{Total: total, Offset: f.Offset, Limit: f.Limit,
		Messages: each(letters, func(l *deadletter.Letter) deadletters.DeadMessage { return shownMessage(l, false) })}, nil
}

func (b *messages) Message(ctx context.Context, of deadletters.MessageName) (*deadletters.DeadMessage, error) {
	whole := func(l *deadletter.Letter) deadletters.DeadMessage { return shownMessage(l, true) }
	return shown(whole)(b.inbox.FindMessage(ctx, within(of.Namespace), of.Source, of.EventID))
}

func (b *messages) Retry(ctx context.Context, req deadletters.MessageRetry) (*deadletters.MessageRetryAnswer, error) {
	if n := len(req.EventIDs); n < 1 || n > deadletters.MaxMessageRetries {
		return nil, tasker.Errorf(tasker.CodeInvalid, "event_ids must have 1 to %d entries, not %d",
			deadletters.MaxMessageRetries, n)
	}
	results, err := b.inbox.RetryMessages(ctx, within(req.Namespace), req.Source, req.EventIDs,
		inbox.By{Actor: req.Actor, Reason: req.Reason})
	if err != nil {
		return nil, refusal.ToError(err)
	}
	out := &deadletters.MessageRetryAnswer{Total: len(req.EventIDs),
		Details: make([]deadletters.MessageRetryDetail, len(results))}
	for i, res := range results {
		switch res.State {
		case compat.RetrySuccess:
			out.Successful++
		case compat.RetryPending:
			out.Pending++
		default:
			out.Failed++
		}
		out.Details[i] = deadletters.MessageRetryDetail{EventID: req.EventIDs[i], Status: string(res.State), Error: res.Why}
	}
	return out, nil
}

const messagesPage = 50

const manualReason = "manual: "

func (b *messages) Discard(ctx context.Context, of deadletters.MessageName, act deadletters.Act,
) (*deadletters.MessageDone, error) {
	act.Reason = manualReason + act.Reason
	by, err := actor(act)
	if err != nil {
		return nil, err
	}
	l, err := b.inbox.FindMessage(ctx, within(of.Namespace), of.Source, of.EventID)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	if l, err = b.inbox.DiscardLetter(ctx, l.ID, by); err != nil {
		return nil, refusal.ToError(err)
	}
	return &deadletters.MessageDone{Message: "Message " + eventID(l) + " discarded"}, nil
}

func eventID(l *deadletter.Letter) string { return cmp.Or(l.MessageID, l.ID.String()) }

// shownMessage converts a letter; whole means with payload and headers.
func shownMessage(l *deadletter.Letter, whole bool) deadletters.DeadMessage {
	content := l.Outgoing()
	m := deadletters.DeadMessage{EventID: eventID(l), EventType: l.EventType, OriginalTopic: posturl.Redact(l.Origin),
		Error: l.Failure.Message, ErrorType: l.Failure.Type, RetryCount: l.Replays, AttemptCount: l.Attempts,
		FailedAt: l.FirstAt.Time(), LastFailedAt: l.LastAt.Time(), Status: statusOf[l.State], ProducerID: l.Handler,
		CreatedAt: l.CapturedAt.Time(), LastUpdated: l.StateAt.Time(),
		AgeSeconds: max(time.Since(l.FirstAt.Time()).Seconds(), 0), LetterUUID: uuid.UUID(l.ID), Source: l.Source,
		Namespace: l.Namespace, Parked: l.Parked, Event: json.RawMessage("null")}
	if whole || l.Size <= letters.SmallPayload && content.Payload != nil {
		m.Event = originalJob(content.Payload)
	}
	switch l.State {
	case model.LetterScheduled:
		m.NextRetryAt = l.Due.Ptr()
	case model.LetterRedriven:
		m.RetriedAt = l.StateAt.Ptr()
	case model.LetterDiscarded:
		m.DiscardedAt, m.DiscardReason = l.StateAt.Ptr(), &l.Reason
	}
	if l.State != model.LetterDiscarded {
		m.LastError = given(l.Reason)
	}
	if whole {
		m.Headers = some(content.Headers, func(h deadletter.Header) deadletters.MessageHeader {
			return deadletters.MessageHeader(shownHeader(h))
		})
	}
	return m
}

var strategies = map[string]model.Strategy{
	"immediate": model.Immediate, "manual": model.Manual,
	"exponential_backoff": model.Exponential, "exponential": model.Exponential,
	"fixed_interval": model.Fixed, "fixed": model.Fixed, "scheduled": model.Fixed,
}

// The defaults of a topic's policy.
const (
	topicRetries, topicMultiplier = 5, 2.0
	topicDelay, topicLongest      = time.Minute, time.Hour
	topicJitter                   = 0.1 // of delays that grow
)

var topicPolicyFields = map[string]string{"/origin": "/topic", "/base": "/base_delay_seconds",
	"/cap": "/max_delay_seconds", "/multiplier": "/retry_multiplier", "/jitter": "/jitter_factor",
	"/max_age": "/max_age_seconds"}

func (b *messages) SavePolicy(ctx context.Context, req deadletters.TopicPolicy) (*deadletters.MessageDone, error) {
	var r reader
	by := inbox.By{Actor: req.Actor, Reason: req.Reason}
	base, limit := r.seconds("/base_delay_seconds", req.BaseDelaySeconds), r.seconds("/max_delay_seconds",
		req.MaxDelaySeconds)
	var age time.Duration
	if req.MaxAgeSeconds != nil {
		age = r.seconds("/max_age_seconds", *req.MaxAgeSeconds)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	_, err := b.inbox.ChangePolicy(ctx, within(req.Namespace), unstarred(req.Source), unstarred(req.Topic), by,
		func(p *deadletter.Policy) {
			p.Strategy, p.MaxRetries, p.Jitter, p.At = strategies[req.Strategy], cmp.Or(req.MaxRetries, topicRetries), 0, 0
			p.Base, p.Multiplier = cmp.Or(base, topicDelay), cmp.Or(req.RetryMultiplier, topicMultiplier)
			p.Cap = cmp.Or(limit, max(topicLongest, p.Base))
			if p.Strategy == model.Exponential {
				p.Jitter = topicJitter
			}
			if req.JitterFactor != nil {
				p.Jitter = *req.JitterFactor
			}
			if req.MaxAgeSeconds != nil {
				p.MaxAge = age
			}
			if req.DiscardTestEvents != nil {
				p.DiscardTests = *req.DiscardTestEvents
			}
			if req.CopyRetries != nil {
				p.CopyRetries = *req.CopyRetries
			}
		})
	for domain, public := range topicPolicyFields {
		err = refusal.Moved(err, domain, public)
	}
	if err != nil {
		return nil, err
	}
	return &deadletters.MessageDone{Message: "Retry policy set for topic " + req.Topic}, nil
}

package kafka

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

const (
	// unknownAge is the age from which a record counts as too old for a topic with unreadable settings.
	unknownAge  = 24 * time.Hour
	rememberFor = time.Minute
	// settingsTime bounds the look-up of settings: the time of a send is for sending.
	settingsTime = 2 * time.Second
)

// lifetime is the age from which a topic does not keep a record with its producer's time: Kafka refuses it, or deletes
// it, maybe immediately, although it has confirmed it. It is negative for a topic that keeps all.
type lifetime time.Duration

// lifetimeOf derives it from a topic's settings, and leaves a tenth of the retention for a consumer.
func lifetimeOf(settings map[string]string) lifetime {
	least := lifetime(-1)
	if settings["message.timestamp.type"] == "LogAppendTime" { // the producer's time does not count
		return least
	}
	limit := func(d time.Duration) {
		if d >= 0 && (least < 0 || lifetime(d) < least) {
			least = lifetime(d)
		}
	}
	if strings.Contains(settings["cleanup.policy"], "delete") {
		d := milliseconds(settings["retention.ms"])
		limit(d - d/10)
	}
	limit(milliseconds(settings["message.timestamp.before.max.ms"]))
	return least
}

func milliseconds(text string) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > int64(time.Duration(1<<63-1)/time.Millisecond) {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

func (l lifetime) keeps(at, now time.Time) bool { return l < 0 || now.Sub(at) < time.Duration(l) }

// renewed gives a record the time of sending if the topic would not keep it with its own, which moves to a header.
func renewed(r *kgo.Record, l lifetime, now time.Time) {
	if r.Timestamp.IsZero() || l.keeps(r.Timestamp, now) {
		return
	}
	ms := strconv.FormatInt(r.Timestamp.UnixMilli(), 10)
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: headerOriginalTime, Value: []byte(ms)})
	r.Timestamp = now
}

// originalTime reads the header of renewed, in milliseconds. Without a redrive beside it the header is an
// application's.
func originalTime(r *kgo.Record) (ms int64, ok bool) {
	sent := false
	for _, h := range r.Headers {
		switch h.Key {
		case headerOriginalTime:
			if n, err := strconv.ParseInt(string(h.Value), 10, 64); err == nil && n >= 0 {
				ms, ok = n, true
			}
		case deadletter.HeaderLetter:
			sent = true
		}
	}
	return ms, ok && sent
}

type known struct {
	lifetime
	at time.Time
}

func (c *conn) lifetime(ctx context.Context, topic string, now time.Time) lifetime {
	c.mu.Lock()
	of, ok := c.lifetimes[topic]
	c.mu.Unlock()
	if ok && now.Sub(of.at) < rememberFor {
		return of.lifetime
	}
	of = known{lifetime(unknownAge), now}
	bounded, cancel := context.WithTimeout(ctx, settingsTime)
	defer cancel()
	settings, err := c.settings(bounded, topic)
	if err == nil {
		of.lifetime = lifetimeOf(settings)
	} else if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		return of.lifetime // asked again next time
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.lifetimes, func(_ string, old known) bool { return now.Sub(old.at) >= rememberFor })
	c.lifetimes[topic] = of
	return of.lifetime
}

func (c *conn) settings(ctx context.Context, topic string) (map[string]string, error) {
	configs, err := c.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, c.fail(err)
	}
	of, err := configs.On(topic, nil)
	if err == nil {
		err = of.Err
	}
	if err != nil {
		return nil, classify(err)
	}
	settings := map[string]string{}
	for _, entry := range of.Configs {
		settings[entry.Key] = entry.MaybeValue()
	}
	return settings, nil
}

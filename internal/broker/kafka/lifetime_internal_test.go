package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A record that the topic would delete or refuse gets the time of sending, and keeps its own in a header.
func TestRenewed(t *testing.T) {
	t.Parallel()
	const none = time.Duration(-1)
	now := time.UnixMilli(1_700_000_000_000)
	topic := func(pairs ...string) map[string]string {
		settings := map[string]string{"cleanup.policy": "delete", "message.timestamp.type": "CreateTime",
			"retention.ms": "100000", "message.timestamp.before.max.ms": "9223372036854775807"}
		for i := 0; i < len(pairs); i += 2 {
			settings[pairs[i]] = pairs[i+1]
		}
		return settings
	}
	for name, c := range map[string]struct {
		settings map[string]string
		want     time.Duration // from which it does not keep a record
	}{
		"Retention":      {topic(), 90 * time.Second},
		"ForEver":        {topic("retention.ms", "-1"), none},
		"VeryLong":       {topic("retention.ms", "9223372036854775807"), none},
		"Nothing":        {topic("retention.ms", "0"), 0},
		"Broken":         {topic("retention.ms", "x"), none},
		"Compacted":      {topic("cleanup.policy", "compact"), none},
		"Both":           {topic("cleanup.policy", "compact,delete"), 90 * time.Second},
		"TimeOfBroker":   {topic("message.timestamp.type", "LogAppendTime"), none},
		"RefusesFirst":   {topic("message.timestamp.before.max.ms", "60000"), time.Minute},
		"DeletesFirst":   {topic("message.timestamp.before.max.ms", "95000"), 90 * time.Second},
		"RefusesForEver": {topic("retention.ms", "-1", "message.timestamp.before.max.ms", "60000"), time.Minute},
	} {
		l := lifetimeOf(c.settings)
		if l != lifetime(c.want) {
			t.Errorf("%s: the topic keeps records for %v, want %v", name, time.Duration(l), c.want)
		}
		for _, age := range []time.Duration{-time.Hour, 0, c.want - 1, c.want, c.want + 1, 1e5 * time.Hour} {
			at := now.Add(-age)
			r := &kgo.Record{Timestamp: at}
			renewed(r, l, now)
			ms, isRenewed := originalTime(&kgo.Record{Headers: append(r.Headers, kgo.RecordHeader{Key: "tasker-letter"})})
			if want := c.want >= 0 && age >= c.want; isRenewed != want || want != r.Timestamp.Equal(now) && age != 0 ||
				want && ms != at.UnixMilli() {
				t.Errorf("%s: a record of age %v was sent with %v and %v", name, age, r.Timestamp, r.Headers)
			}
		}
	}
	r := &kgo.Record{}
	renewed(r, 0, now)
	if !r.Timestamp.IsZero() || len(r.Headers) > 0 {
		t.Errorf("a record without a time got %v", r)
	}
}

// A reader removes the header of the original time, unless an application has written it.
func TestOriginalTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		letter, time, want, left string
	}{
		{"tasker-letter", "1600000000123", "1600000000123", ""},
		{"", "1600000000123", "1700000000000", "1600000000123"},
		{"tasker-letter", "yesterday", "1700000000000", "yesterday"},
		{"tasker-letter", "-1", "1700000000000", "-1"},
	} {
		r := &kgo.Record{Timestamp: time.UnixMilli(1_700_000_000_000),
			Headers: []kgo.RecordHeader{{Key: headerOriginalTime, Value: []byte(c.time)}, {Key: c.letter}}}
		m := message(r, [16]byte{})
		got := map[string]string{}
		for _, h := range m.Headers {
			got[h.Name] = string(h.Value)
		}
		if got[headerTimestamp] != c.want || got[foreign+headerOriginalTime] != c.left || got[headerOriginalTime] != "" {
			t.Errorf("%v is read as %q", c, got)
		}
	}
}

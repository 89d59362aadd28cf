package redis

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Any entry is written as it was, with the additions of a redrive at its end.
func TestFieldsAreWrittenAsTheyWere(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"", "", "x", "\x00\xff"})
	name := rapid.SampledFrom([]string{"payload", "data", "key", "message_id", "header.key", "header.header.payload",
		"redis-fields", "redis-header-redis-fields", "redis-header-x", "header.redis-fields", "", "a", "a", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		l := layout(rapid.SampledFrom([]string{"payload", "data"}).Draw(t, "layout"))
		var fields []string
		for range rapid.IntRange(1, 6).Draw(t, "fields") {
			fields = append(fields, name.Draw(t, "name"), text.Draw(t, "value"))
		}
		m := l.message(fields)
		if got := l.fields(&m); !slices.Equal(got, fields) {
			t.Fatalf("%q is written as %q: %+v", fields, got, m)
		}
		again := []string{"tasker-letter", "1"}
		m.Headers = append(m.Headers, deadletter.Header{Name: again[0], Value: []byte(again[1])})
		if got := l.fields(&m); !slices.Equal(got, append(fields, again...)) {
			t.Fatalf("%q is sent back as %q: %+v", fields, got, m)
		}
	})
}

func TestFieldsOfAnEditedMessage(t *testing.T) {
	t.Parallel()
	const l = layout("payload")
	m := l.message(strings.Fields("h 1 payload old h 2 key k message_id id"))
	m.Payload, m.Key, m.MessageID = []byte("new"), nil, ""
	m.Headers = slices.DeleteFunc(m.Headers, func(h deadletter.Header) bool { return h.Name == "h" })
	if got := strings.Join(l.fields(&m), " "); got != "payload new" {
		t.Errorf("it is %s", got)
	}
	m = l.message(strings.Fields("h 1 h 2"))
	m.Payload, m.Key = []byte("new"), []byte{}
	if got := l.fields(&m); !slices.Equal(got, []string{"payload", "new", "key", "", "h", "1", "h", "2"}) {
		t.Errorf("it is %q", got)
	}
}

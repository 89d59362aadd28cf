package format_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// input is a message in testdata. Fields that end in 64 are for bytes that are no text.
type input struct {
	Format    string  `json:"format"`
	MessageID string  `json:"message_id"`
	Key       *string `json:"key"`
	Key64     []byte  `json:"key64"`
	Headers   []struct {
		Name    string `json:"name"`
		Value   string `json:"value"`
		Value64 []byte `json:"value64"`
	} `json:"headers"`
	Payload   string `json:"payload"`
	Payload64 []byte `json:"payload64"`
}

func (in *input) message() driver.Message {
	m := driver.Message{MessageID: in.MessageID, Key: in.Key64, Payload: append(in.Payload64, in.Payload...)}
	if in.Key != nil {
		m.Key = []byte(*in.Key)
	}
	for _, h := range in.Headers {
		m.Headers = append(m.Headers, deadletter.Header{Name: h.Name, Value: append(h.Value64, h.Value...)})
	}
	return m
}

func read(t testing.TB, file string) input {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return in
}

func inputs(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("there are %d messages: %v", len(files), err)
	}
	return files
}

func show(d *format.Decoded) string {
	var b strings.Builder
	line := func(name string, value any, zero bool) {
		if !zero {
			fmt.Fprintf(&b, "%s: %v\n", name, value)
		}
	}
	text := func(name, value string) { line(name, fmt.Sprintf("%q", value), value == "") }
	at := func(name string, i task.Instant) { line(name, i.Time().Format(time.RFC3339Nano), i == 0) }
	text("format", d.Format)
	text("undecoded", d.Undecoded)
	text("origin", d.Origin)
	text("position", d.OriginPosition)
	text("handler", d.Handler)
	text("type", d.Failure.Type)
	text("code", d.Failure.Code)
	text("message", d.Failure.Message)
	text("stack", d.Stack)
	line("attempts", d.Attempts, d.Attempts == 0)
	at("first", d.FirstAt)
	at("last", d.LastAt)
	for _, detail := range d.Details {
		line("detail "+detail.Name, fmt.Sprintf("%q", detail.Value), false)
	}
	text("message ID", d.MessageID)
	line("letter", d.Letter, d.Letter == task.ID{})
	line("redrive", d.Redrive, d.Redrive == task.ID{})
	line("replays", d.Replays, d.Replays == 0)
	line("key", fmt.Sprintf("%q", d.Content.Key), d.Content.Key == nil)
	for _, h := range d.Content.Headers {
		line("header "+h.Name, fmt.Sprintf("%q", h.Value), false)
	}
	line("payload", fmt.Sprintf("%q", d.Content.Payload), false)
	return b.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, file := range inputs(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			in := read(t, file)
			d := format.Decode(in.message(), in.Format)
			got := show(&d)
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || got != string(want) {
				t.Fatalf("decoded\n%swant (%v)\n%s", got, err, want)
			}
		})
	}
}

func TestNamesAreDetected(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, file := range inputs(t) {
		in := read(t, file)
		if in.Format != "" {
			continue
		}
		d := format.Decode(in.message(), "")
		seen[d.Format] = true
		if d.Format == format.Raw {
			continue
		}
		if named := format.Decode(in.message(), d.Format); show(&named) != show(&d) {
			t.Errorf("%s: named it is decoded differently", file)
		}
	}
	for _, name := range format.Names() {
		if !seen[name] {
			t.Errorf("no message is detected as %s", name)
		}
	}
}

// Decoding does not change the message, which may be decoded again.
func TestMessageStays(t *testing.T) {
	t.Parallel()
	for _, file := range inputs(t) {
		in := read(t, file)
		m := in.message()
		before := fmt.Sprintf("%+v", m)
		format.Decode(m, in.Format)
		if after := fmt.Sprintf("%+v", m); after != before {
			t.Errorf("%s: the message was %s, and is %s", file, before, after)
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 1<<17)
	document, err := json.Marshal(map[string]any{"original_job": long, "error": long, "error_type": long,
		"stack_trace": long, "queue_name": long, "context": map[string]string{long: long}, "attempt_count": 1e300})
	if err != nil {
		t.Fatal(err)
	}
	d := format.Decode(driver.Message{Payload: document, MessageID: long}, "")
	if d.Format != "job_failure" || len(d.Content.Payload) != len(long)+2 {
		t.Fatalf("%s with a payload of %d bytes", d.Format, len(d.Content.Payload))
	}
	check(t, &d)
	if !strings.HasSuffix(d.Stack, "…[truncated]") || d.Attempts != 1_000_000_000 {
		t.Fatalf("%d attempts, a stack of %d bytes", d.Attempts, len(d.Stack))
	}
}

func TestDeepDocuments(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"original_job":`, 100_000)
	d := format.Decode(driver.Message{Payload: []byte(deep + `"error" "queue_name"`)}, "")
	if d.Format != format.Raw || d.Undecoded == "" {
		t.Fatalf("%s, %q", d.Format, d.Undecoded)
	}
	d = format.Decode(driver.Message{Headers: []deadletter.Header{{Name: "x-death",
		Value: bytes.Repeat([]byte("["), 1_000_000)}}}, "")
	if d.Format != format.Raw || !strings.Contains(d.Undecoded, "x-death") {
		t.Fatalf("%s, %q", d.Format, d.Undecoded)
	}
}

func check(t *testing.T, d *format.Decoded) {
	t.Helper()
	texts := []string{d.Format, d.Origin, d.OriginPosition, d.Handler, d.Failure.Type, d.Failure.Code,
		d.Failure.Message, d.Stack, d.MessageID, d.Undecoded}
	for _, detail := range d.Details {
		texts = append(texts, detail.Name, detail.Value)
	}
	for i, s := range texts {
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") || len(s) > 32<<10 {
			t.Fatalf("text %d is %.200q, of %d bytes", i, s, len(s))
		}
	}
	for _, s := range []string{d.Origin, d.OriginPosition, d.Handler, d.Failure.Type, d.MessageID} {
		if len(s) > 255 {
			t.Fatalf("a name has %d bytes", len(s))
		}
	}
	for _, i := range []task.Instant{d.FirstAt, d.LastAt} {
		if i != 0 && (i.Time().Year() < 1970 || i.Time().Year() > 9999) {
			t.Fatalf("a time is %v", i)
		}
	}
	if d.Attempts < 0 || d.Replays < 0 || len(d.Details) > 32 || d.LastAt != 0 && d.FirstAt > d.LastAt {
		t.Fatalf("%+v", d)
	}
	for _, h := range d.Content.Headers {
		if h.Name == deadletter.HeaderLetter {
			t.Fatal("the content has a header of Tasker")
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, file := range inputs(f) {
		in := read(f, file)
		m := in.message()
		name, value := "", []byte(nil)
		if len(m.Headers) > 0 {
			name, value = m.Headers[0].Name, m.Headers[0].Value
		}
		f.Add(m.Key, name, value, "kafka_dlt-original-offset", []byte("12345678"), m.Payload, in.Format)
	}
	f.Fuzz(func(t *testing.T, key []byte, name1 string, value1 []byte, name2 string, value2, payload []byte,
		named string) {
		m := driver.Message{Key: key, Payload: payload, MessageID: name1,
			Headers: []deadletter.Header{{Name: name1, Value: value1}, {Name: name2, Value: value2}}}
		for _, as := range append(format.Names(), "", named) {
			d := format.Decode(m, as)
			check(t, &d)
			if d.Format == format.Raw && (!bytes.Equal(d.Content.Payload, payload) || !bytes.Equal(d.Content.Key, key)) {
				t.Fatal("a raw message is not as it was")
			}
		}
	})
}

func TestFormatsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/dead-letter-formats.md")
	if err != nil {
		t.Fatal(err)
	}
	after := 0
	for _, name := range format.Names() {
		at := strings.Index(string(page), "\n| `"+name+"` |")
		if at < after {
			t.Errorf("docs/reference/dead-letter-formats.md has no row for %s, or in another order", name)
		}
		after = max(after, at)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, file := range inputs(b) {
		in := read(b, file)
		m := in.message()
		b.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(b *testing.B) {
			for b.Loop() {
				format.Decode(m, in.Format)
			}
		})
	}
}

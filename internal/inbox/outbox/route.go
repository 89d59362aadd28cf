package outbox

import (
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Place is a destination of the letters of a source.
type Place struct {
	Source      deadletter.SourceKey
	Destination string
}

// Destination is where a letter is sent: to a named destination, or to its origin.
func Destination(named string, l *deadletter.Letter) string {
	if named != "" {
		return named
	}
	return l.Origin
}

// Quoted returns a text in quotes.
func Quoted(s string) string { return `"` + s + `"` }

// ShownDestination shows a destination without secrets, and what is wrong with it.
func ShownDestination(to string) string {
	shown := Quoted(posturl.Redact(to))
	if !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "http://") {
		return shown
	}
	if _, fault := posturl.Parse(to); fault != "" {
		return shown + ", which " + fault
	}
	return shown
}

// RefusedDestination says why a letter may not be sent to a destination.
func RefusedDestination(source, to string) string {
	if to == "" {
		return "it has no origin: give a destination"
	}
	return source + " does not allow the destination " + ShownDestination(to) + "; add it to the targets of the source"
}

// Allows reports whether letters of a source may be sent to a destination: to their origin and to the targets of the
// source. The origin of a report is only a claim of the program, and must not make this server call any URL: only
// targets count.
func Allows(s *deadletter.Source, destination, origin string) bool {
	if s.Driver == deadletter.DriverHTTP {
		origin = ""
	}
	return s.Allows(destination, origin)
}

// retryHeaders returns what consumers of event platforms expect of a message that is sent back; nil for letters whose
// source is of another kind.
func retryHeaders(s *deadletter.Source, l *deadletter.Letter, no int, now task.Instant) []deadletter.Header {
	if s.Driver != "kafka" && l.Format != "dlq_envelope" {
		return nil
	}
	return []deadletter.Header{
		{Name: deadletter.HeaderRetryCount, Value: []byte(strconv.Itoa(no))},
		{Name: deadletter.HeaderOriginalError, Value: []byte(failure.Cut(l.Failure.Message, maxRetryError))},
		{Name: deadletter.HeaderRetryTimestamp, Value: []byte(now.Time().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))},
	}
}

const maxRetryError = 1024

// lineage returns content with the headers by which a letter is recognised when it dies again, and more. It replaces
// such headers that the content has already: a letter that was sent back before carries those of the last time. c is
// not changed; the headers are copied.
func lineage(c deadletter.Content, l *deadletter.Letter, no int, more []deadletter.Header) deadletter.Content {
	headers := make([]deadletter.Header, 0, len(c.Headers)+3+len(more))
	for _, h := range c.Headers {
		replaced := slices.ContainsFunc(more, func(m deadletter.Header) bool { return m.Name == h.Name })
		if !replaced && h.Name != deadletter.HeaderLetter && h.Name != deadletter.HeaderRedrive &&
			h.Name != deadletter.HeaderReplays {
			headers = append(headers, h)
		}
	}
	headers = append(headers, more...)
	headers = append(headers, deadletter.Header{Name: deadletter.HeaderLetter, Value: []byte(l.ID.String())})
	if !l.Redrive.IsZero() {
		headers = append(headers, deadletter.Header{Name: deadletter.HeaderRedrive, Value: []byte(l.Redrive.String())})
	}
	c.Headers = append(headers, deadletter.Header{Name: deadletter.HeaderReplays,
		Value: []byte(strconv.Itoa(no))})
	return c
}

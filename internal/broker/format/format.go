// Package format reads the failure that a dead letter describes. Frameworks have conventions for that: headers, or an
// envelope around the original payload. Each convention has a file; [Decode] detects the one of a message, or uses that
// of its source.
//
// Messages are hostile: a decoder returns only bounded, printable texts and times, and never fails. A message that
// breaks its convention is decoded as raw, with the reason.
//
// A new convention is a file with a variable of type convention, an entry in the list, and samples in testdata.
// message.go has the common parts of decoders.
package format

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Decoded is the content of a message; unknown fields are zero. Texts are valid UTF-8 without NUL, and bounded: a
// longer one ends with a mark.
type Decoded struct {
	Format string
	// Origin is where the consumer took the message from; "" if unknown.
	Origin string
	// OriginPosition identifies the original message there: partition and offset, "3@17".
	OriginPosition string
	Handler        string
	Failure        failure.Report
	Stack          string
	// Attempts counts the consumer's tries, with the first.
	Attempts        int
	FirstAt, LastAt task.Instant
	// Content is the original: without the envelope, and without the headers of the convention and Tasker's own.
	// Headers and payload share memory with the message.
	Content   deadletter.Content
	MessageID string
	// Details are the convention's other values, in order.
	Details []deadletter.Detail
	// Letter, Redrive and Replays identify a letter that was sent back, by Tasker's headers.
	Letter, Redrive task.ID
	Replays         int
	// Undecoded is why the message could not be decoded, a part of a sentence; "" if it could.
	Undecoded string
}

// Bounds in bytes; those of a failure are the same as for tasks.
const (
	maxName    = 255
	maxText    = 8 << 10
	maxStack   = 32 << 10
	maxCount   = 1_000_000_000
	maxDetails = 32
)

// Raw is the format of a message that follows no convention.
const Raw = "raw"

type convention struct {
	name string
	// follows reports whether a message claims to follow it, quickly, and is false for other conventions.
	follows func(*message) bool
	// decode fills in d, whose Content has no headers of Tasker. An error, a part of a sentence, is a broken
	// convention, and drops d.
	decode func(m *message, d *Decoded) error
}

// conventions are tried in order: headers before bodies, since any body may be below a framework's headers. An envelope
// comes late: its names are common, and the wrong decoder loses the payload.
var conventions = []convention{spring, connect, watermill, xDeath, uForwarder, jobFailure, envelope, tasker}

// Names returns the formats that a source may name.
func Names() []string {
	out := make([]string, 0, len(conventions)+1)
	for _, c := range conventions {
		out = append(out, c.name)
	}
	return append(out, Raw)
}

// Decode reads a message in the named format, or in the detected one if name is "". It never fails: an undecodable
// message is raw. It does not guess instead of a named format: the operator needs the reason.
func Decode(m driver.Message, name string) Decoded {
	if name == Raw {
		return raw(&m, "")
	}
	in := &message{Message: &m}
	known := name == ""
	for _, c := range conventions {
		if name != "" && name != c.name {
			continue
		}
		known = true
		if !c.follows(in) {
			continue
		}
		d := raw(&m, "")
		d.Format = c.name
		d.Failure.Retryable = true
		if err := c.decode(in, &d); err != nil {
			return raw(&m, fmt.Sprintf("it is no %s: %v", c.name, err))
		}
		d.bound()
		return d
	}
	switch {
	case !known:
		return raw(&m, fmt.Sprintf("there is no format %q", failure.Cut(name, maxName)))
	case name != "":
		return raw(&m, fmt.Sprintf("it is no %s: nothing in it says so", name))
	}
	return raw(&m, "it follows no known convention")
}

func raw(m *driver.Message, why string) Decoded {
	d := Decoded{Format: Raw, MessageID: m.MessageID, Undecoded: text(why, maxText),
		Failure: failure.Report{Retryable: true},
		Content: deadletter.Content{Key: m.Key, Headers: m.Headers, Payload: m.Payload}}
	d.lineage()
	d.MessageID = text(d.MessageID, maxName)
	return d
}

// bound cuts decoded texts and orders times, so that decoders need not.
func (d *Decoded) bound() {
	for _, s := range []*string{&d.Origin, &d.OriginPosition, &d.Handler, &d.MessageID, &d.Failure.Type, &d.Failure.Code} {
		*s = text(*s, maxName)
	}
	d.Failure.Message = text(d.Failure.Message, maxText)
	d.Stack = text(d.Stack, maxStack)
	d.Attempts = min(max(d.Attempts, 0), maxCount)
	d.Details = d.Details[:min(len(d.Details), maxDetails)]
	for i := range d.Details {
		d.Details[i] = deadletter.Detail{Name: text(d.Details[i].Name, maxName), Value: text(d.Details[i].Value, maxText)}
	}
	if d.FirstAt > d.LastAt && d.LastAt != 0 {
		d.FirstAt, d.LastAt = d.LastAt, d.FirstAt
	}
}

func (d *Decoded) detail(name, value string) {
	if value != "" {
		d.Details = append(d.Details, deadletter.Detail{Name: name, Value: value})
	}
}

// text returns a text that can be stored: PostgreSQL takes no NUL. It reads only the beginning of a huge one.
func text(s string, limit int) string {
	s = s[:min(len(s), limit+64)]
	return failure.Cut(strings.ReplaceAll(s, "\x00", " "), limit)
}

// Package format reads what a dead letter says of its own failure. Frameworks have conventions for that: headers, or an
// envelope around the original payload. Each convention has a file; [Decode] detects which one a message follows, or
// takes the one that its source names.
//
// Messages are hostile: a decoder takes no more than bounded texts and times that can be shown, and never fails. What
// does not follow its convention is decoded as raw, with the reason.
//
// A new convention is a file with a variable of type convention, an entry in the list, and samples in testdata.
// message.go has what decoders share.
package format

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Decoded is what a message says of itself; a field that it does not tell is zero. Texts are valid UTF-8 without NUL,
// and bounded: a longer one ends with a mark.
type Decoded struct {
	Format string // name of the convention
	// Origin is where the consumer had taken the message from; "" where the message does not say.
	Origin string
	// OriginPosition identifies the original message there: partition and offset, "3@17".
	OriginPosition string
	Handler        string // the consumer
	Failure        failure.Report
	Stack          string
	// Attempts is how often its consumer tried, the first time included.
	Attempts        int
	FirstAt, LastAt task.Instant // when it died first, and last
	// Content is the original: without the envelope, and without the headers of the convention and Tasker's own.
	// Headers and payload share memory with the message.
	Content   deadletter.Content
	MessageID string
	// Details are what else the convention tells, in its order.
	Details []deadletter.Detail
	// Letter, Redrive and Replays are of a letter that was sent back: from Tasker's headers.
	Letter, Redrive task.ID
	Replays         int
	// Undecoded is why the message could not be decoded, a part of a sentence; "" when it was.
	Undecoded string
}

// Bounds of what a message tells, in bytes; those of a failure are the same as for tasks.
const (
	maxName    = 255
	maxText    = 8 << 10
	maxStack   = 32 << 10
	maxCount   = 1_000_000_000
	maxDetails = 32
)

// Raw is the format of a message that follows no convention.
const Raw = "raw"

// convention is one way to report a failure with a message.
type convention struct {
	name string
	// follows reports whether a message claims to follow it. It is cheap, and false for other conventions.
	follows func(*message) bool
	// decode fills in d, whose Content is that of the message without Tasker's headers. Its error, a part of a sentence,
	// says why the message does not follow the convention; then d is dropped.
	decode func(m *message, d *Decoded) error
}

// conventions are tried in order: headers before bodies, since an application may have put any body below the headers
// of a framework. An envelope is tried late: its names are common, and the wrong decoder loses the payload.
var conventions = []convention{spring, connect, watermill, xDeath, uForwarder, jobFailure, envelope, tasker}

// Names returns the names of the formats that a source may name.
func Names() []string {
	out := make([]string, 0, len(conventions)+1)
	for _, c := range conventions {
		out = append(out, c.name)
	}
	return append(out, Raw)
}

// Decode reads a message in the named format, or in the one that it follows if name is "". It never fails: a message
// that it cannot decode is raw. It replaces no named format by another one: to the operator who named it, the reason is
// worth more than a guess.
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

// raw returns a message as it is, without Tasker's headers.
func raw(m *driver.Message, why string) Decoded {
	d := Decoded{Format: Raw, MessageID: m.MessageID, Undecoded: text(why, maxText),
		Failure: failure.Report{Retryable: true},
		Content: deadletter.Content{Key: m.Key, Headers: m.Headers, Payload: m.Payload}}
	d.lineage()
	d.MessageID = text(d.MessageID, maxName)
	return d
}

// bound cuts what decoders took as it was, and puts times in their order. Decoders need not care about lengths.
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

// text returns a text that can be stored: PostgreSQL takes no NUL. Of a huge one it looks at the beginning only.
func text(s string, limit int) string {
	s = s[:min(len(s), limit+64)]
	return failure.Cut(strings.ReplaceAll(s, "\x00", " "), limit)
}

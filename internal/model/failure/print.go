package failure

import (
	"strconv"
	"strings"
)

// PrintVersion is the latest version of the rules by which PrintOf derives a Print. The rules never change under one
// version: prints are stored, and failures from before a change would not be counted with those from after.
//
// Version 2 keeps what says what went wrong: a status, a code, an errno, a SQLSTATE, an exit status, the name of a
// column. A print that has nothing of that is of version 1, and so in the group that it was always in.
const PrintVersion = 2

// The bounds of the parts of a Print, in bytes.
const (
	maxPart  = 200
	maxTitle = 240
	// looked is how much of a text is looked at. A stack of Python is looked at from its end, too.
	looked = 8 << 10
)

// Print is a fingerprint with its parts: failures of one cause have the same. A part that is not known is "".
type Print struct {
	// Version is that of the first rules that leave the parts as they are.
	Version int
	// Type is the type, or the code, of the error.
	Type string
	// Message is the first line of the message, in which marks stand for the parts that vary: numbers, identifiers,
	// times, addresses, paths, quoted text. What says what went wrong stays: a status, a code, the name of a column.
	Message string
	// Frame is the top frame of the application's own code.
	Frame string
	// Where is the handler, or else the source.
	Where string
	// Rule is the name of the rule that decided; then the other parts only explain. "" when none did.
	Rule string
	// RuleVersion is the version of the rule that decided first by the present condition and keys.
	RuleVersion int64
	// RuleKeys are the values of the rule's keys, one a line, each in one line of at most 200 bytes.
	RuleKeys string
	// Heading is the title that the rule gives; "" derives one. It identifies nothing.
	Heading string
	// Before is the key that the rules of the version before give; "" where it is the same. It identifies nothing.
	Before string
}

// Ruled returns the fingerprint that a rule decided: its keys take the place of all that identified p, which stays as
// an explanation. The version of the parts does not matter then.
func (p Print) Ruled(rule string, version int64, keys []string, heading string) Print {
	p.Version, p.Before = 1, ""
	p.Rule, p.RuleVersion, p.RuleKeys, p.Heading = rule, version, "", Cut(plain(heading), maxTitle)
	for i, key := range keys {
		if i > 0 {
			p.RuleKeys += "\n"
		}
		p.RuleKeys += plain(key)
	}
	return p
}

// PrintOf returns the fingerprint of a failure. stack is the text of its stack, "" for none; where is the handler, or
// else the source. Every part is valid UTF-8 in one line of at most 200 bytes, whatever it is made of; only the first
// few KiB of a text are looked at, and the last ones of a stack of Python.
//
// The same arguments give the same print in every process and version of Tasker, as long as PrintVersion is the same.
// An unknown part is "", so failures without a stack are still grouped by the rest.
func PrintOf(r Report, stack, where string) Print {
	name := r.Code
	if name == "" {
		name = r.Type
	}
	frame, _ := topFrame(stack)
	message, coded := normalise(r.Message, true)
	p := Print{Version: 1, Type: plain(name), Message: message, Frame: frame, Where: plain(where)}
	if !coded {
		return p
	}
	if Normalise(message) != message {
		p.Version = PrintVersion
	}
	return p.after(p.Type, Normalise(r.Message))
}

// after returns a print whose type and message were others by the rules of version 1.
func (p Print) after(kind, message string) Print {
	before := p
	before.Version, before.Type, before.Message, before.Before = 1, kind, message, ""
	if key := before.Key(); key != p.Key() {
		p.Before = key
	}
	return p
}

// PrintOfKind is PrintOf for a failure of which the message and the Fingerprint are known. A fingerprint that was made
// of a message in which something varies names no type: it has in it some of what varies. Version 1 took it for one.
func PrintOfKind(fingerprint, message, stack, where string) Print {
	p := PrintOf(Report{Code: fingerprint, Message: message}, stack, where)
	kind := p.Type
	switch fingerprint {
	case p.Message:
		return p
	case Fingerprint(Report{Message: message}):
		p.Type = ""
	case Fingerprint(Report{Type: "panic", Message: message}):
		p.Type = "panic"
	default:
		return p
	}
	return p.after(kind, Normalise(message))
}

// Title returns a line of at most 240 bytes for a list of fingerprints: what is most telling of what is known. It is
// for people; two causes may have the same title.
func (p Print) Title() string {
	if p.Rule != "" {
		return p.ruleTitle()
	}
	title := p.Message
	switch {
	case p.Type != "" && p.Type != "error" && title != "":
		title = p.Type + ": " + title
	case title == "":
		title = p.Type
	}
	// A failure without any text is still listed under something.
	if title == "" {
		title = p.Frame
	}
	if title == "" {
		return "(nothing is known)"
	}
	return Cut(title, maxTitle)
}

// ruleTitle is the title of what a rule decided.
func (p Print) ruleTitle() string {
	if p.Heading != "" {
		return p.Heading
	}
	title := p.Rule
	if p.RuleKeys != "" {
		title += ": " + strings.ReplaceAll(p.RuleKeys, "\n", ", ")
	}
	return Cut(title, maxTitle)
}

// Key returns what identifies the fingerprint: two have the same key exactly if they are of one cause. Each part
// stands behind its length, so that parts cannot be confused. A rule takes the place of all other parts.
func (p Print) Key() string {
	// The word in front keeps a rule from having the key of a print.
	parts := []string{"print", p.Type, p.Message, p.Frame, p.Where}
	if p.Rule != "" {
		parts = []string{"rule", p.Rule, strconv.FormatInt(p.RuleVersion, 10), p.RuleKeys}
	}
	var b strings.Builder
	b.WriteString("v" + strconv.Itoa(p.Version))
	for _, part := range parts {
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
	}
	return b.String()
}

// Part is one part of a fingerprint, and the text that it was derived from.
type Part struct {
	Name  string // type, message, frame, where, rule or key
	Value string
	// From is the beginning of the text, in one line of at most 200 bytes; "" where nothing was given.
	From string
}

// Why explains a fingerprint by the failure that it was derived from: the parts that count, each with its text. A part
// that would be derived differently today has the value that is stored.
func (p Print) Why(r Report, stack, where string) []Part {
	name := r.Code
	if name == "" {
		name = r.Type
	}
	_, line := topFrame(stack)
	parts := []Part{
		{"type", p.Type, plain(name)},
		{"message", p.Message, plain(firstLine(r.Message))},
		{"frame", p.Frame, plain(line)},
		{"where", p.Where, plain(where)},
	}
	if p.Rule == "" {
		return parts
	}
	parts = []Part{{"rule", p.Rule + " version " + strconv.FormatInt(p.RuleVersion, 10), ""}}
	for _, key := range p.Keys() {
		parts = append(parts, Part{"key", key, ""})
	}
	return parts
}

// Keys returns the values of the rule's keys; none where it has no keys, or where no rule decided.
func (p Print) Keys() []string {
	if p.RuleKeys == "" {
		return nil
	}
	return strings.Split(p.RuleKeys, "\n")
}

package failure

import (
	"cmp"
	"strconv"
	"strings"
)

// PrintVersion is the latest version of the rules of PrintOf. The rules of a version never change: prints are
// stored, and a change would count old and new failures apart.
//
// Version 2 keeps statuses, codes, errnos, SQLSTATEs, exit statuses and names of columns. A print without any of
// these stays version 1, and so in its old group.
const PrintVersion = 2

const (
	maxPart  = 200
	maxTitle = 240
	// looked bounds the bytes read of a text, and of the end of a Python stack.
	looked = 8 << 10
)

// Print is a fingerprint with its parts. Failures of one cause have the same. An unknown part is "".
type Print struct {
	// Version is the first version of the rules that gives these parts.
	Version int
	// Type is the type or the code of the error.
	Type string
	// Message is the first line of the message with marks for the parts that vary: numbers, identifiers, times,
	// addresses, paths, quoted text. Codes and names of columns stay.
	Message string
	// Frame is the top frame of the application's own code.
	Frame string
	// Where is the handler, else the source.
	Where string
	// Rule is the name of the rule that decided, "" for none. With a rule the other parts only explain.
	Rule string
	// RuleVersion is the version of the rule that introduced its present condition and keys.
	RuleVersion int64
	// RuleKeys are the values of the rule's keys, one a line, each in one line of at most 200 bytes.
	RuleKeys string
	// Heading is the title that the rule gives; "" derives one. It identifies nothing.
	Heading string
	// Before is the key by the previous version of the rules, "" for the same. It identifies nothing.
	Before string
}

// Ruled returns the fingerprint of a rule: its keys identify it instead of the parts of p, which stay as an
// explanation.
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

// PrintOf returns the fingerprint of a failure. stack is "" for none; where is the handler, else the source. Every
// part is one line of valid UTF-8, at most 200 bytes. It reads only the first few KiB of a text, and the last few
// of a Python stack.
//
// The same arguments give the same print in every process with the same PrintVersion.
func PrintOf(r Report, stack, where string) Print {
	name := r.Code
	name = cmp.Or(name, r.Type)
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

// after returns the print with the key that the type and message of version 1 give.
func (p Print) after(kind, message string) Print {
	before := p
	before.Version, before.Type, before.Message, before.Before = 1, kind, message, ""
	if key := before.Key(); key != p.Key() {
		p.Before = key
	}
	return p
}

// PrintOfKind is PrintOf for a failure whose message and Fingerprint are known. A fingerprint made of a varying
// message names no type; version 1 took it for one.
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

// Title returns a line of at most 240 bytes for people; two causes may share it.
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
	title = cmp.Or(title, p.Frame)
	if title == "" {
		return "(nothing is known)"
	}
	return Cut(title, maxTitle)
}

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

// Key identifies the fingerprint: two have the same key exactly if they are of one cause. Lengths delimit the
// parts. A rule replaces all other parts.
func (p Print) Key() string {
	// The first word separates prints from rules.
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
	// From is the beginning of the text, one line of at most 200 bytes.
	From string
}

// Why explains the parts of a fingerprint by the failure. A part that today's rules derive differently keeps its
// stored value.
func (p Print) Why(r Report, stack, where string) []Part {
	name := r.Code
	name = cmp.Or(name, r.Type)
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

// Keys returns the values of the rule's keys.
func (p Print) Keys() []string {
	if p.RuleKeys == "" {
		return nil
	}
	return strings.Split(p.RuleKeys, "\n")
}

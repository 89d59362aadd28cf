// Package terminal lays out clean text for people: tables that fit a terminal, and paragraphs that wrap at words.
// It writes to no terminal.
package terminal

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width returns the columns of s on a terminal.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// 0 for a combining mark, 2 for a wide character.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1 // fast path
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Wrap breaks s into lines of at most columns, at spaces if possible; a longer word is broken anywhere.
func Wrap(s string, columns int) []string {
	return wrap(s, columns, true)
}

// Without breaks a long word has its own line.
func wrap(s string, columns int, breaks bool) []string {
	if columns <= 0 || Width(s) <= columns {
		return []string{s}
	}
	var lines []string
	line, used := "", 0
	flush := func() {
		if line != "" {
			lines = append(lines, line)
		}
		line, used = "", 0
	}
	for word := range strings.FieldsSeq(s) {
		w := Width(word)
		if used > 0 && used+1+w > columns {
			flush()
		}
		if used > 0 {
			line, used = line+" "+word, used+1+w
			continue
		}
		for breaks && w > columns {
			head, rest := split(word, columns)
			lines = append(lines, head)
			word, w = rest, Width(rest)
		}
		line, used = word, w
	}
	flush()
	return lines
}

// split cuts a fitting beginning off a word, at least one character.
func split(word string, columns int) (head, rest string) {
	used := 0
	for i, r := range word {
		used += runeWidth(r)
		if used > columns && i > 0 {
			return word[:i], word[i:]
		}
	}
	return word, ""
}

// Reflow wraps paragraphs again. Indented lines, such as a command line or a list, keep their breaks and hang. A
// line at the column of a term's meaning continues it.
func Reflow(text string, columns int) string {
	var out, paragraph []string
	var term entry
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, wrap(strings.Join(paragraph, " "), columns, false)...)
		}
		if term.head != "" {
			out = append(out, Hang(term.head, term.meaning, term.column, columns))
		}
		paragraph, term = nil, entry{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(body)]
		switch {
		case body != "" && indent == "":
			if len(paragraph) == 0 {
				flush()
			}
			paragraph = append(paragraph, body)
			continue
		case term.head != "" && body != "" && len(indent) == term.column:
			term.meaning += " " + body
			continue
		}
		flush()
		if head, meaning, ok := strings.Cut(body, "  "); ok {
			meaning = strings.TrimLeft(meaning, " ")
			term = entry{head: indent + head, meaning: meaning, column: Width(line) - Width(meaning)}
			continue
		}
		if Width(line) <= columns {
			out = append(out, line)
			continue
		}
		for _, part := range wrap(body, columns-len(indent), false) {
			out = append(out, indent+part)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// entry is a term of a list with the column of its meaning.
type entry struct {
	head, meaning string
	column        int
}

// Hang writes text behind a head of indent columns; further lines align.
func Hang(head, text string, indent, columns int) string {
	space := strings.Repeat(" ", indent)
	head += strings.Repeat(" ", max(1, indent-Width(head)))
	lines := wrap(text, columns-indent, false)
	return strings.TrimRight(head+strings.Join(lines, "\n"+space), " ")
}

// Field writes "head value" in lines of at most columns; further lines are indented. JSON is broken behind commas
// outside strings, so a copy is still JSON; other values at spaces. A long word is not broken, because it may be
// copied. 0 columns are unlimited.
func Field(head, value string, indent, columns int) string {
	if columns <= 0 || Width(head)+1+Width(value) <= columns {
		return strings.TrimRight(head+" "+value, " ")
	}
	words, gap := strings.Split(value, " "), " "
	if json.Valid([]byte(value)) {
		words, gap = membersOf(value), ""
	}
	var b strings.Builder
	b.WriteString(head)
	used := Width(head)
	for i, word := range words {
		n := Width(word)
		// The first word only leaves its head for a line that fits it.
		if used+len(gap)+n > columns && (i > 0 || indent+n <= columns) {
			b.WriteString("\n" + strings.Repeat(" ", indent) + word)
			used = indent + n
			continue
		}
		between := gap
		if i == 0 {
			between = " "
		}
		b.WriteString(between + word)
		used += len(between) + n
	}
	return b.String()
}

func membersOf(document string) (parts []string) {
	quoted, escaped, from := false, false, 0
	for i, r := range document {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = quoted
		case r == '"':
			quoted = !quoted
		case r == ',' && !quoted:
			parts, from = append(parts, document[from:i+1]), i+1
		}
	}
	return append(parts, document[from:])
}

// continued matches a continued end of line.
var continued = regexp.MustCompile(`[ ]*\\\n[ ]*`)

// WrapCommands breaks long command lines of an example at spaces outside quotes with a backslash, after joining
// continued lines.
func WrapCommands(text string, columns int) string {
	text = continued.ReplaceAllString(text, " ")
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(body)]
		for Width(indent+body) > columns {
			at := breakOutsideQuotes(body, columns-Width(indent)-2)
			if at <= 0 {
				break
			}
			out = append(out, indent+body[:at]+` \`)
			body = body[at+1:]
			indent = line[:len(line)-len(strings.TrimLeft(line, " "))] + "  "
		}
		out = append(out, indent+body)
	}
	return strings.Join(out, "\n")
}

// breakOutsideQuotes returns the last space outside quotes within columns, preferably before a flag, to keep it
// with its value; 0 for none.
func breakOutsideQuotes(command string, columns int) int {
	var quote rune
	last, flag := 0, 0
	for i, r := range command {
		if i > columns {
			break
		}
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == ' ':
			last = i
			if strings.HasPrefix(command[i+1:], "-") || strings.HasPrefix(command[i+1:], "|") {
				flag = i
			}
		}
	}
	if flag > 0 {
		return flag
	}
	return last
}

package chart

import (
	"html"
	"html/template"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTitle = 300

type drawing struct{ b strings.Builder }

// html: everything was escaped when it was written.
func (d *drawing) html() template.HTML { return template.HTML(d.b.String()) }

// begin opens the drawing. Role img hides its inside from screen readers, which read the description instead; group
// keeps links reachable.
func (d *drawing) begin(name, role, description string, width, height int, attrs ...any) {
	d.open("svg", append([]any{"xmlns", "http://www.w3.org/2000/svg", "class", "chart " + name, "role", role,
		"aria-label", clean(description, maxTitle), "width", width, "height", height,
		"viewBox", "0 0 " + strconv.Itoa(width) + " " + strconv.Itoa(height)}, attrs...)...)
}

func (d *drawing) end() template.HTML {
	d.close("svg")
	return d.html()
}

// open writes the start of an element. attrs are pairs of a name and a string or int; an empty string omits the
// attribute.
func (d *drawing) open(name string, attrs ...any) {
	d.start(name, attrs)
	d.b.WriteByte('>')
}

func (d *drawing) tag(name string, attrs ...any) {
	d.start(name, attrs)
	d.b.WriteString("/>")
}

func (d *drawing) start(name string, attrs []any) {
	d.b.WriteByte('<')
	d.b.WriteString(name)
	for i := 0; i+1 < len(attrs); i += 2 {
		var value string
		switch v := attrs[i+1].(type) {
		case int:
			value = strconv.Itoa(v)
		case string:
			value = v
		}
		if value == "" {
			continue
		}
		d.b.WriteByte(' ')
		d.b.WriteString(attrs[i].(string))
		d.b.WriteString(`="`)
		d.b.WriteString(html.EscapeString(value))
		d.b.WriteByte('"')
	}
}

func (d *drawing) close(name string) {
	d.b.WriteString("</")
	d.b.WriteString(name)
	d.b.WriteByte('>')
}

// title writes the tooltip of the enclosing element.
func (d *drawing) title(s string) {
	d.open("title")
	d.b.WriteString(html.EscapeString(clean(s, maxTitle)))
	d.close("title")
}

// text writes s, cut to a width in pixels at a font size. Anchor is start, middle or end.
func (d *drawing) text(class string, x, y int, anchor, s string, width, size int) {
	if anchor == "start" {
		anchor = ""
	}
	d.open("text", "class", class, "x", x, "y", y, "text-anchor", anchor)
	d.b.WriteString(html.EscapeString(fit(s, width, size)))
	d.close("text")
}

// maxMarks bounds the combining characters on one letter.
const maxMarks = 2

// clean makes s one line of at most limit characters, without characters that control a terminal, are invisible, change
// the direction of text, or pile up above a line.
func clean(s string, limit int) string {
	var b strings.Builder
	count, marks, space := 0, 0, false
	for _, r := range s {
		if unicode.In(r, unicode.Mn, unicode.Me) {
			if marks++; marks <= maxMarks && count > 0 {
				b.WriteRune(r)
			}
			continue
		}
		switch {
		case unicode.IsSpace(r), unicode.In(r, unicode.Zl, unicode.Zp):
			space = count > 0
			continue
		case unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c':
			continue
		case unicode.In(r, unicode.Cc, unicode.Co, unicode.Cs), unicode.Is(unicode.Noncharacter_Code_Point, r):
			r = utf8.RuneError
		}
		if count >= limit {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			count++
		}
		b.WriteRune(r)
		count, marks, space = count+1, 0, false
	}
	return b.String()
}

// fit cleans s and cuts it to a width in pixels, with an ellipsis.
func fit(s string, width, size int) string {
	s = clean(s, max(width, 1))
	if measure(s, size) <= width {
		return s
	}
	room, used := width*100-size*ellipsisWidth, 0
	for i, r := range s {
		if used += runeWidth(r) * size; used > room {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// measure estimates the width of s in pixels, rather too much: the font is the reader's.
func measure(s string, size int) int {
	hundredths := 0
	for _, r := range s {
		hundredths += runeWidth(r) * size
	}
	return (hundredths + 99) / 100
}

const ellipsisWidth = 90

// runeWidth is in hundredths of the font size.
func runeWidth(r rune) int {
	switch {
	case strings.ContainsRune("iljtfrI.,:;'|!()[] ", r):
		return 36
	case strings.ContainsRune("mwMW@%", r):
		return 92
	case r >= 'A' && r <= 'Z', r == '_':
		return 69
	case r < 0x80:
		return 58
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100:
		return 75
	default:
		return ellipsisWidth + 35
	}
}

// local returns href if it stays on this server, else "".
func local(href string) string {
	for _, r := range href {
		if r <= ' ' || r == 0x7f || r == '\\' || r == utf8.RuneError || unicode.Is(unicode.Noncharacter_Code_Point, r) {
			return ""
		}
	}
	if href == "" || strings.HasPrefix(href, "//") || !strings.ContainsRune("/?#", rune(href[0])) {
		return ""
	}
	return href
}

func identifier(s, other string) string {
	s = strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, s)
	if s == "" || s[0] < 'A' {
		return other + s
	}
	return s
}

func words(s ...string) string {
	return strings.Join(strings.Fields(strings.Join(s, " ")), " ")
}

func orUnnamed(s string) string {
	if clean(s, 1) == "" {
		return "(unnamed)"
	}
	return s
}

package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/kit/envelope"
)

// Branch is a JSON value as a tree. Its template is "tree".
type Branch struct {
	Key string // name of the member, or index of the element; "" for the root
	// Kind is object, array, string, number, true, false or null.
	Kind string
	// Text is the value, of a string without quotes; of an object or array its size.
	Text     string
	Children []*Branch
	More     bool // there are more children than are shown
	Open     bool // shown with its children at first
	Chars    int  // of a long string: its characters; 0 for a short one
}

// Bounds of a tree: nodes, levels, and characters of a string.
const (
	treeNodes  = 2000
	treeLevels = 64
	treeText   = 2000
	treeOpen   = 2
)

// Tree returns JSON as a tree: members in their order, repeated names repeated, numbers as written. It stops after
// 2,000 nodes and at 64 levels. It returns nil unless raw is one JSON object or array. Values that a client has encoded
// are marked.
func Tree(raw []byte) *Branch {
	if !utf8.Valid(raw) || len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(envelope.Shown(raw)))
	d.UseNumber()
	p := &treeParser{d: d}
	root, err := p.value("", 0)
	if err != nil || root == nil || root.Children == nil && root.Kind != "object" && root.Kind != "array" {
		return nil
	}
	if _, err := d.Token(); !p.full && !errors.Is(err, io.EOF) {
		return nil
	}
	return root
}

type treeParser struct {
	d     *json.Decoder
	nodes int
	full  bool // the rest is not read
}

// value returns nil past the bounds; then nothing further can be read.
func (p *treeParser) value(key string, level int) (*Branch, error) {
	if p.nodes++; p.nodes > treeNodes || level > treeLevels {
		p.full = true
		return nil, nil
	}
	t, err := p.d.Token()
	if err != nil {
		return nil, err
	}
	b := &Branch{Key: key, Open: level < treeOpen}
	switch v := t.(type) {
	case json.Delim:
		if v == '{' {
			b.Kind = "object"
		} else {
			b.Kind = "array"
		}
		return b, p.children(b, level)
	case string:
		b.Kind, b.Text = "string", v
		if n := utf8.RuneCountInString(v); n > 60 {
			b.Chars, b.Text = n, cut(v, treeText)
		}
	case json.Number:
		b.Kind, b.Text = "number", v.String()
	case bool:
		b.Kind, b.Text = fmt.Sprint(v), fmt.Sprint(v)
	default:
		b.Kind, b.Text = "null", "null"
	}
	return b, nil
}

// children reads the members or elements after the opening bracket.
func (p *treeParser) children(b *Branch, level int) error {
	for n := 0; p.d.More(); n++ {
		key := fmt.Sprint(n)
		if b.Kind == "object" {
			name, err := p.d.Token()
			if err != nil {
				return err
			}
			key = name.(string)
		}
		child, err := p.value(key, level+1)
		if err != nil {
			return err
		}
		if child != nil {
			b.Children = append(b.Children, child)
		}
		if p.full {
			b.More, b.Text = true, "more than "+Plural(len(b.Children), b.noun())
			return nil
		}
	}
	if _, err := p.d.Token(); err != nil { // the closing bracket
		return err
	}
	b.Text = Plural(len(b.Children), b.noun())
	return nil
}

func (b *Branch) noun() string {
	if b.Kind == "object" {
		return "field"
	}
	return "element"
}

// Fault returns where a text is not JSON, "" if it is.
func Fault(text string) string {
	var v json.RawMessage
	err := json.Unmarshal([]byte(text), &v)
	if err == nil {
		return ""
	}
	at := len(text)
	ends := strings.Contains(err.Error(), "unexpected end")
	if s := (*json.SyntaxError)(nil); errors.As(err, &s) && s.Offset > 0 && !ends {
		at = int(min(s.Offset-1, int64(len(text))))
	}
	before := text[:at]
	line, column := strings.Count(before, "\n")+1, utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])+1
	return fmt.Sprintf("line %d, column %d: %s", line, column, err)
}

package typegen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A schema describes a value. Tasker's document uses a small part of JSON Schema.
type schema struct {
	Type        words             `json:"type"`
	Format      string            `json:"format"`
	Ref         string            `json:"$ref"`
	Enum        []any             `json:"enum"`
	OneOf       []schema          `json:"oneOf"`
	Items       *schema           `json:"items"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Others      json.RawMessage   `json:"additionalProperties"`
	Description string            `json:"description"`
}

type words []string

func (w *words) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*w = words{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(raw, &many); err != nil {
		return fmt.Errorf("decode a type: %w", err)
	}
	*w = many
	return nil
}

// model is a schema with a name.
type model struct {
	name   string
	doc    string
	fields []field
	sent   bool // in requests only
}

// field is a property of a model.
type field struct {
	name     string
	doc      string
	required bool
	of       schema
}

// models are a document's object schemas, by name.
func models(document []byte) ([]model, error) {
	doc, err := parse(document)
	if err != nil {
		return nil, err
	}
	sent := doc.sent()
	var all []model
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		if !slices.Contains(s.Type, "object") {
			return nil, fmt.Errorf("schema %s is no object: the generator does not know such a one", name)
		}
		m := model{name: name, doc: s.Description, sent: sent[name]}
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			of := s.Properties[key]
			m.fields = append(m.fields, field{key, of.Description, slices.Contains(s.Required, key), of})
		}
		all = append(all, m)
	}
	return all, nil
}

// language is how a language writes types.
type language struct {
	prefix                                          string // of the names of models
	any, text, time, integer, number, boolean, null string

	literal func(values []string) string // of the quoted values
	list    func(of string) string
	object  func(of string) string // any keys, all with one type
}

func (l *language) write(s *schema) string {
	var union []string
	add := func(t string) {
		if !slices.Contains(union, t) {
			union = append(union, t)
		}
	}
	switch {
	case s.Ref != "":
		return l.prefix + s.refersTo()
	case len(s.OneOf) > 0:
		for i := range s.OneOf {
			add(l.write(&s.OneOf[i]))
		}
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			if text, ok := v.(string); ok {
				values = append(values, fmt.Sprintf("%q", text))
			}
		}
		add(l.literal(values))
		if len(values) < len(s.Enum) {
			add(l.null)
		}
	}
	if len(union) == 0 {
		for _, t := range s.Type {
			add(l.plain(t, s))
		}
	}
	if len(union) == 0 {
		return l.any
	}
	return strings.Join(union, " | ")
}

func (s *schema) refersTo() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// plain writes a named type.
func (l *language) plain(name string, s *schema) string {
	switch name {
	case "string":
		if s.Format == "date-time" {
			return l.time
		}
		return l.text
	case "integer":
		return l.integer
	case "number":
		return l.number
	case "boolean":
		return l.boolean
	case "null":
		return l.null
	case "array":
		if s.Items == nil {
			return l.list(l.any)
		}
		return l.list(l.write(s.Items))
	case "object":
		var of schema
		if json.Unmarshal(s.Others, &of) != nil { // true, or left out
			return l.object(l.any)
		}
		return l.object(l.write(&of))
	}
	return l.any
}

// wrap breaks a text into lines of up to limit bytes.
func wrap(text string, limit int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > limit {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

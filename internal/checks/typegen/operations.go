package typegen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is the used part of an OpenAPI document.
type document struct {
	Paths      map[string]map[string]described `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type described struct {
	ID         string `json:"operationId"`
	Summary    string `json:"summary"`
	Parameters []struct {
		Name     string `json:"name"`
		In       string `json:"in"`
		Required bool   `json:"required"`
		Schema   schema `json:"schema"`
	} `json:"parameters"`
	RequestBody struct {
		Required bool    `json:"required"`
		Content  content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content content `json:"content"`
	} `json:"responses"`
}

type content map[string]struct {
	Schema schema `json:"schema"`
}

func parse(raw []byte) (*document, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("decode the OpenAPI document: %w", err)
	}
	return &doc, nil
}

// sent are the schemas that occur in requests only.
func (doc *document) sent() map[string]bool {
	var asked, answered []schema
	for _, methods := range doc.Paths {
		for _, d := range methods {
			for _, body := range d.RequestBody.Content {
				asked = append(asked, body.Schema)
			}
			for _, answer := range d.Responses {
				for _, body := range answer.Content {
					answered = append(answered, body.Schema)
				}
			}
		}
	}
	sent := doc.within(asked)
	for name := range doc.within(answered) {
		delete(sent, name)
	}
	return sent
}

// within are the names of all schemas that some refer to, transitively.
func (doc *document) within(some []schema) map[string]bool {
	all := map[string]bool{}
	var visit func(s *schema)
	visit = func(s *schema) {
		if name := s.refersTo(); name != "" {
			if all[name] {
				return
			}
			all[name] = true
			named := doc.Components.Schemas[name]
			visit(&named)
		}
		for i := range s.OneOf {
			visit(&s.OneOf[i])
		}
		if s.Items != nil {
			visit(s.Items)
		}
		for _, p := range s.Properties {
			visit(&p)
		}
		var others schema
		if json.Unmarshal(s.Others, &others) == nil {
			visit(&others)
		}
	}
	for i := range some {
		visit(&some[i])
	}
	return all
}

// An operation becomes a method.
type operation struct {
	id, summary  string
	method, path string
	segments     []string // path parameters, in order
	query        []field
	body         *schema // nil: none
	needsBody    bool
	answer       schema
	page         page
}

// page says how an answer is one part of a list; zero for other answers.
type page struct {
	items  string // key of the list
	cursor string // key of the next cursor
	of     schema
}

// byHand are operations whose handwritten methods do more, or whose answer is a stream.
var byHand = []string{
	"submit-task", "submit-tasks", "get-task", "list-tasks", "list-steps", "get-step", "get-task-history", "explain-task",
	"list-step-logs", "send-signal", "register-template", "edit-task-context", "list-approvals", "cancel-task",
}

// operations are those below /v1 with JSON answers, by name. The worker protocol and the dialects of other queues are
// not for callers of a client.
func operations(raw []byte) ([]operation, error) {
	doc, err := parse(raw)
	if err != nil {
		return nil, err
	}
	var all []operation
	known := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, d := range methods {
			known[d.ID] = true
			answer, ok := d.Responses["200"].Content["application/json"]
			if !strings.HasPrefix(path, "/v1/") || slices.Contains(byHand, d.ID) || !ok {
				continue
			}
			op := operation{id: d.ID, summary: d.Summary, method: strings.ToUpper(method), path: path, answer: answer.Schema}
			op.parameters(&d)
			op.page = doc.pageOf(&op)
			all = append(all, op)
		}
	}
	for _, id := range byHand {
		if !known[id] {
			return nil, fmt.Errorf("there is no operation %s any more, for which the clients have a method", id)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.id, b.id) })
	return all, nil
}

// parameters omits headers: each has a twin in the body or the query.
func (op *operation) parameters(d *described) {
	for _, part := range strings.Split(op.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			op.segments = append(op.segments, strings.TrimSuffix(name, "}"))
		}
	}
	for _, p := range d.Parameters {
		if p.In == "query" {
			op.query = append(op.query, field{name: p.Name, required: p.Required, of: p.Schema})
		}
	}
	if body, ok := d.RequestBody.Content["application/json"]; ok && body.Schema.refersTo() != "Nothing" {
		op.body, op.needsBody = &body.Schema, d.RequestBody.Required
	}
}

// pageOf finds the list and the cursor in an answer; the cursor is then not a parameter.
func (doc *document) pageOf(op *operation) page {
	at := slices.IndexFunc(op.query, func(f field) bool { return f.name == "cursor" })
	if at < 0 {
		return page{}
	}
	var p page
	whole := doc.Components.Schemas[op.answer.refersTo()]
	for _, key := range slices.Sorted(maps.Keys(whole.Properties)) {
		switch of := whole.Properties[key]; {
		case of.Items != nil && p.items != "":
			return page{} // two lists
		case of.Items != nil:
			p.items, p.of = key, *of.Items
		case key == "cursor" || key == "next_cursor":
			p.cursor = key
		}
	}
	if p.items == "" || p.cursor == "" {
		return page{}
	}
	op.query = slices.Delete(op.query, at, at+1)
	return p
}

func camel(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' })
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	return strings.Join(words, "")
}

package masking

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
)

var maskedJSON = json.RawMessage(`"` + sensitive.Mask + `"`)

type subjectOf = func(*pass, any) (*subject, error)

func letterSubjects() map[reflect.Type]subjectOf {
	subjects := map[reflect.Type]subjectOf{}
	subjects[typeOf[deadletters.Letter]()] = func(p *pass, v any) (*subject, error) {
		l := v.(*deadletters.Letter)
		return p.source(l.Namespace, l.Source)
	}
	subjects[typeOf[deadletters.LetterStory]()] = func(p *pass, v any) (*subject, error) {
		l := v.(*deadletters.LetterStory)
		return p.source(l.Namespace, l.Source)
	}
	subjects[typeOf[deadletters.DeadMessage]()] = func(p *pass, v any) (*subject, error) {
		m := v.(*deadletters.DeadMessage)
		return p.source(m.Namespace, m.Source)
	}
	subjects[typeOf[dlqapi.Job]()] = func(p *pass, v any) (*subject, error) {
		j := v.(*dlqapi.Job)
		return p.source(j.Namespace, j.Source)
	}
	subjects[typeOf[deadletters.PreviewItem]()] = func(p *pass, v any) (*subject, error) {
		item := v.(*deadletters.PreviewItem)
		if len(item.Changes) == 0 {
			return nil, nil
		}
		if item.Kind == deadletters.KindCase {
			return p.once(item.ID, func() (sensitive.Rule, error) { return p.rules.OfCase(p.ctx, item.ID) })
		}
		return p.once(item.ID, func() (sensitive.Rule, error) { return p.rules.OfLetter(p.ctx, item.ID) })
	}
	subjects[typeOf[deadletters.Redrive]()] = func(p *pass, v any) (*subject, error) {
		return p.redrive(v.(*deadletters.Redrive))
	}
	return subjects
}

func (p *pass) redrive(r *deadletters.Redrive) (*subject, error) {
	switch {
	case r.Edit == nil:
		return nil, nil
	case r.Selection.Source != "" && r.Selection.Namespace != "":
		return p.source(r.Selection.Namespace, r.Selection.Source)
	}
	namespace := cmp.Or(r.Selection.Namespace, r.Namespace)
	return p.once("namespace "+namespace, func() (sensitive.Rule, error) { return p.rules.OfNamespace(p.ctx, namespace) })
}

func maskEdit(about *subject, v any) {
	e := v.(*deadletters.Edit)
	for i := range e.SetHeaders {
		if about.headers[strings.ToLower(e.SetHeaders[i].Name)] {
			e.SetHeaders[i].Value, e.SetHeaders[i].ValueBase64 = sensitive.Mask, nil
		}
	}
}

// maskContent masks a whole payload that is not JSON, if pointers are set.
func maskContent(about *subject, v any) {
	c := v.(*deadletters.Content)
	c.Payload, c.PayloadBase64 = about.payload(c.Payload, c.PayloadBase64)
	for i := range c.Headers {
		if about.headers[strings.ToLower(c.Headers[i].Name)] {
			c.Headers[i].Value, c.Headers[i].ValueBase64 = sensitive.Mask, nil
		}
	}
}

func (s *subject) payload(text json.RawMessage, binary []byte) (json.RawMessage, []byte) {
	if s.set.Empty() {
		return text, binary
	}
	if len(binary) > 0 {
		return slices.Clone(maskedJSON), nil
	}
	text, _ = s.set.Document(text)
	return text, nil
}

func maskOccurrence(about *subject, v any) {
	o := v.(*deadletters.Occurrence)
	o.Payload, o.PayloadBase64 = about.payload(o.Payload, o.PayloadBase64)
}

// maskMessage masks an event: JSON text, or an object with base64.
func maskMessage(about *subject, v any) {
	m := v.(*deadletters.DeadMessage)
	m.Event = about.shown(m.Event)
	for i := range m.Headers {
		if about.headers[strings.ToLower(m.Headers[i].Name)] {
			m.Headers[i].Value, m.Headers[i].ValueBase64 = sensitive.Mask, nil
		}
	}
}

func maskJob(about *subject, v any) {
	j := v.(*dlqapi.Job)
	j.OriginalJob = about.shown(j.OriginalJob)
}

// shown masks a whole binary payload: no pointer selects a part of it.
func (s *subject) shown(payload json.RawMessage) json.RawMessage {
	if s.set.Empty() || len(payload) == 0 {
		return payload
	}
	var binary map[string]json.RawMessage
	if json.Unmarshal(payload, &binary) == nil && len(binary) == 1 && len(binary["base64"]) > 0 {
		return slices.Clone(maskedJSON)
	}
	masked, _ := s.set.Document(payload)
	return masked
}

// maskChanges masks changes at, below or around a sensitive pointer.
func maskChanges(about *subject, v any) {
	item := v.(*deadletters.PreviewItem)
	for i := range item.Changes {
		c := &item.Changes[i]
		name, header := strings.CutPrefix(c.Pointer, "header ")
		switch {
		case header && !about.headers[strings.ToLower(name)], c.Pointer == "key":
			continue
		case !header && c.Pointer != "payload" && !about.set.Touches(c.Pointer), !header && about.set.Empty():
			continue
		}
		c.Before, c.After = masked(c.Before), masked(c.After)
	}
}

func masked(text string) string {
	if text == "" {
		return ""
	}
	return sensitive.Mask
}

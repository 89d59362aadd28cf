package masking

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
)

// Rules finds the sensitive places. Its methods are safe for concurrent use and read what is stored now: pointers of
// sources change.
type Rules interface {
	// CodeNotFound: a missing task, or one outside the key's reach.
	OfTask(ctx context.Context, task uuid.UUID) (sensitive.Rule, error)
	OfTemplate(ctx context.Context, namespace, name, version string) (sensitive.Rule, error)
	// OfSource returns an empty rule for a missing source.
	OfSource(ctx context.Context, namespace, source string) (sensitive.Rule, error)
	// CodeNotFound as above; a case has the rule of its task.
	OfLetter(ctx context.Context, letter uuid.UUID) (sensitive.Rule, error)
	OfCase(ctx context.Context, id uuid.UUID) (sensitive.Rule, error)
	// OfNamespace joins the rules of all sources and templates; "" means all namespaces.
	OfNamespace(ctx context.Context, namespace string) (sensitive.Rule, error)
	// NoteLook records in the audit trail that the key of ctx sees sensitive values.
	NoteLook(ctx context.Context, look sensitive.Look) error
}

// Masker masks answers. It is safe for concurrent use.
type Masker struct {
	rules Rules
	looks looks
}

// New returns a Masker. With nil rules nothing is sensitive.
func New(rules Rules) *Masker {
	if rules == nil {
		rules = none{}
	}
	return &Masker{rules: rules, looks: looks{now: time.Now}}
}

// Mask masks sensitive values, possibly in place. After an error, which means that the rules could not be read, nothing
// may be sent.
func (m *Masker) Mask(ctx context.Context, answer any) (any, error) {
	v := reflect.ValueOf(answer)
	if !v.IsValid() {
		return answer, nil
	}
	p := &pass{ctx: ctx, rules: m.rules, known: map[any]*subject{}}
	settable := reflect.New(v.Type()).Elem()
	settable.Set(v)
	if err := p.walk(settable, nil); err != nil {
		return nil, fmt.Errorf("mask an answer: %w", err)
	}
	return settable.Interface(), nil
}

type subject struct {
	set     *sensitive.Set
	headers map[string]bool // lower case
}

func (s *subject) hides() bool { return s != nil && (!s.set.Empty() || len(s.headers) > 0) }

type pass struct {
	ctx   context.Context
	rules Rules
	known map[any]*subject
}

var (
	rawType   = reflect.TypeFor[json.RawMessage]()
	timeType  = reflect.TypeFor[time.Time]()
	uuidType  = reflect.TypeFor[uuid.UUID]()
	errorType = reflect.TypeFor[tasker.Error]()
)

func (p *pass) walk(v reflect.Value, about *subject) error {
	switch v.Type() {
	case rawType:
		if about.hides() && v.Len() > 0 {
			masked, _ := about.set.Anywhere(v.Bytes())
			v.SetBytes(masked)
		}
		return nil
	case timeType, uuidType, errorType:
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return p.walk(v.Elem(), about)
		}
	case reflect.Slice, reflect.Array:
		if !holds(v.Type().Elem()) {
			return nil
		}
		for i := range v.Len() {
			if err := p.walk(v.Index(i), about); err != nil {
				return err
			}
		}
	case reflect.Map:
		return p.members(v, about)
	case reflect.Struct:
		return p.object(v, about)
	}
	return nil
}

func (p *pass) members(v reflect.Value, about *subject) error {
	if !holds(v.Type().Elem()) {
		return nil
	}
	for _, key := range v.MapKeys() {
		member := reflect.New(v.Type().Elem()).Elem()
		member.Set(v.MapIndex(key))
		if err := p.walk(member, about); err != nil {
			return err
		}
		v.SetMapIndex(key, member)
	}
	return nil
}

func (p *pass) object(v reflect.Value, about *subject) error {
	t := v.Type()
	if !holds(t) {
		return nil
	}
	if find := subjects[t]; find != nil {
		own, err := find(p, v.Addr().Interface())
		if err != nil {
			return err
		}
		if own != nil {
			about = own
		}
	}
	if whole := wholes[t]; whole != nil && about.hides() {
		whole(about, v.Addr().Interface())
	}
	documents := inputs[t]
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			continue
		}
		if documents[field.Name] && about.hides() {
			masked, _ := about.set.Document(v.Field(i).Bytes())
			v.Field(i).SetBytes(masked)
			continue
		}
		if err := p.walk(v.Field(i), about); err != nil {
			return err
		}
	}
	return nil
}

type none struct{}

func (none) OfTask(context.Context, uuid.UUID) (r sensitive.Rule, err error) { return r, nil }
func (none) OfTemplate(_ context.Context, _, _, _ string) (r sensitive.Rule, err error) {
	return r, nil
}
func (none) OfSource(_ context.Context, _, _ string) (r sensitive.Rule, err error) { return r, nil }
func (none) OfLetter(context.Context, uuid.UUID) (r sensitive.Rule, err error)     { return r, nil }
func (none) OfCase(context.Context, uuid.UUID) (r sensitive.Rule, err error)       { return r, nil }
func (none) OfNamespace(context.Context, string) (r sensitive.Rule, err error)     { return r, nil }
func (none) NoteLook(context.Context, sensitive.Look) error                        { return nil }

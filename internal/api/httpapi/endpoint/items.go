package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/strictjson"
	"github.com/taskerhq/tasker/internal/kit/pointer"
)

// Some requests have items with separate answers. An item refused before the Backend must not affect the others: the
// SDK combines items of independent callers.

// Refusals are the refused items of a request, by place.
type Refusals map[int]*tasker.Error

// Add records the refusal of an item; the locations in err are relative to it.
func (r *Refusals) Add(i int, name string, err error) {
	if *r == nil {
		*r = Refusals{}
	}
	var e *tasker.Error
	if !errors.As(Moved(err, "", ItemPath(name, i)), &e) {
		e = tasker.Errorf(tasker.CodeInternal, "the item could not be judged")
	}
	(*r)[i] = e
}

// ItemPath returns the location of an item of a list.
func ItemPath(name string, i int) string { return fmt.Sprintf("/%s/%d", name, i) }

// Sift returns the accepted items and their places in the request; places is nil if none was refused.
func Sift[T any](items []T, refused Refusals) (kept []T, places []int) {
	if len(refused) == 0 {
		return items, nil
	}
	for i, item := range items {
		if refused[i] == nil {
			kept, places = append(kept, item), append(places, i)
		}
	}
	return kept, places
}

// Merge combines the answers to accepted and refused items in one list of n, in the order of the request. refuse turns
// a refusal into an answer.
func Merge[R any](n int, places []int, answers []R, refused Refusals, refuse func(int, *tasker.Error) R) []R {
	if len(refused) == 0 {
		return List(answers)
	}
	out := make([]R, n)
	for i, e := range refused {
		out[i] = refuse(i, e)
	}
	for k, place := range places {
		if k < len(answers) {
			out[place] = answers[k]
		}
	}
	return out
}

// Moved returns err with its locations moved: "/tasks/0/context" becomes "/context" for a caller who sent one item.
func Moved(err error, from, to string) error {
	var e *tasker.Error
	if from == to || !errors.As(err, &e) || len(e.Details) == 0 {
		return err
	}
	shown := *e
	shown.Details = make([]tasker.Detail, len(e.Details))
	for i, detail := range e.Details {
		detail.Location = pointer.Move(detail.Location, from, to)
		shown.Details[i] = detail
	}
	return &shown
}

// MovedItem is Moved for the error of one answer, which may be nil.
func MovedItem(e *tasker.Error, from, to string) *tasker.Error {
	if e == nil {
		return nil
	}
	var out *tasker.Error
	if errors.As(Moved(e, from, to), &out) {
		return out
	}
	return e
}

// First returns the one item of a list; a broken Backend with none must not cause a panic.
func First[T any](items []T) (T, error) {
	if len(items) == 0 {
		var zero T
		return zero, errors.New("the backend answered one item with none")
	}
	return items[0], nil
}

// Salvageable is a body whose items have separate answers. Its function gets data that broke a rule. If only items did,
// it returns a body with the valid items and the refusals of the others.
type Salvageable interface {
	Salvager() func(data []byte) (body any, can bool)
}

// ShapeOf compiles a type that is not in the OpenAPI document.
func ShapeOf[T any]() *strictjson.Shape {
	r := newRegistry()
	return strictjson.NewCompiler(r).Compile(SchemaOf[T](r))
}

// Bounds of the answer to a salvaged request, which may be hostile. Beyond MaxSalvaged the whole request is refused.
const (
	MaxSalvaged    = 1000
	detailsPerItem = 5
)

// SalvageItems decodes items one by one and records the invalid ones.
func SalvageItems[T any](s *strictjson.Shape, raw []json.RawMessage, name string) (items []T, refused Refusals) {
	items = make([]T, len(raw))
	for i := range raw {
		if err := strictjson.Decode(raw[i], s, &items[i]); err != nil {
			refused.Add(i, name, err)
			e := refused[i]
			e.Details = e.Details[:min(len(e.Details), detailsPerItem)]
		}
	}
	return items, refused
}

package local

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/model/task"
)

// each converts a list.
func each[F, T any](list []F, convert func(*F) T) []T {
	out := make([]T, len(list))
	for i := range list {
		out[i] = convert(&list[i])
	}
	return out
}

// eachOr is each with a conversion that may fail.
func eachOr[F, T any](list []F, convert func(F) (*T, error)) ([]T, error) {
	out := make([]T, len(list))
	for i, from := range list {
		to, err := convert(from)
		if err != nil {
			return nil, err
		}
		out[i] = *to
	}
	return out, nil
}

// as converts an answer of the engine, or its error.
func as[F, T any](convert func(F) T) func(F, error) (T, error) {
	return func(from F, err error) (to T, _ error) {
		if err != nil {
			return to, ToError(err)
		}
		return convert(from), nil
	}
}

// page is the size of a page that a request asks for; 0 is a default, at most the server's limit. The engine checks it.
func (b *Backend) page(asked, usual int) int {
	if asked != 0 {
		return asked
	}
	return min(usual, b.engine.Config().Limits.PageItems)
}

// encodeCursor returns a position in a list as text without a meaning for clients.
func encodeCursor(position any) (string, error) {
	raw, err := json.Marshal(position)
	if err != nil {
		return "", fmt.Errorf("encode cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// decodeCursor reads a position, unless the cursor is empty. valid may refuse it.
func decodeCursor[P any](cursor string, position *P, valid func(*P) bool) error {
	if cursor == "" {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(raw, position) != nil || !valid(position) {
		return noCursor("cursor")
	}
	return nil
}

func noCursor(at string) error {
	return badFilter(tasker.Detail{Location: at, Message: "is not a cursor of this list"})
}

// filterFaults collects the faults of a filter, so that a caller corrects a request once. The zero value has none.
type filterFaults []tasker.Detail

func (f *filterFaults) add(at, message string) {
	*f = append(*f, tasker.Detail{Location: at, Message: message})
}

// name refuses a text that no name can have: it would find nothing. "" does not restrict.
func (f *filterFaults) name(at, text string) {
	if fault := task.TextFault(text, task.MaxName); fault != "" {
		f.add(at, fault)
	}
}

// names checks pairs of a location and a text.
func (f *filterFaults) names(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		f.name(pairs[i], pairs[i+1])
	}
}

// all checks the values of a parameter that repeats.
func (f *filterFaults) all(at string, texts []string) {
	for _, text := range texts {
		f.name(at, text)
	}
}

func (f *filterFaults) instant(at string, i task.Instant) {
	if fault := task.InstantFault(i); fault != "" {
		f.add(at, fault)
	}
}

func (f filterFaults) err() error {
	if len(f) == 0 {
		return nil
	}
	return badFilter(f...)
}

func badFilter(problems ...tasker.Detail) *tasker.Error {
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the filter is not valid", Details: problems}
}

// damages joins the damage of several rows; "" without any.
func damages(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), "; ")
}

// times saturates: a number too large for a duration becomes the longest one, and exceeds its bound.
func times(n int, unit time.Duration) time.Duration {
	if most := math.MaxInt64 / int64(unit); int64(n) > most || int64(n) < -most {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}

// ToError is refusal.ToError, also for callers of the engine outside of this package.
func ToError(err error) error { return refusal.ToError(err) }

// itemError is ToError for one item. An item has no HTTP header, so it repeats the pause in seconds. It hides an
// unclassified error, because the caller gets it unchanged. nil for nil.
func itemError(err error) *tasker.Error {
	var e *task.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		item := refusal.Of(e)
		item.RetryAfterSeconds = item.RetryAfter.Seconds()
		return item
	default:
		return tasker.Errorf(tasker.CodeInternal, "an internal error occurred")
	}
}

// toUUID, toID and toIDs convert IDs: the same 16 bytes on both sides.
func toUUID(id task.ID) uuid.UUID { return uuid.UUID(id) }
func toID(id uuid.UUID) task.ID   { return task.ID(id) }

func toIDs(ids []uuid.UUID) []task.ID {
	out := make([]task.ID, len(ids))
	for i, id := range ids {
		out[i] = task.ID(id)
	}
	return out
}

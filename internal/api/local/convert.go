package local

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker"
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

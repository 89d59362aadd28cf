package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

const (
	// captureParts bounds the concurrent transactions of a batch, each on a connection.
	captureParts = 2
	// partSize is the least size of a part: a transaction costs about as much as 20 letters.
	partSize = 100
)

var partSeed = maphash.MakeSeed()

// batchInParts is a batch that several concurrent transactions capture, where the store allows it: a PostgreSQL
// connection uses one core. Arrivals with the same key or content are in one part, in order. The IDs of letters follow
// the arrivals. It is not safe for concurrent use.
type batchInParts struct {
	in     *Capturer
	source *deadletter.Source
	size   int
	parts  [][]prepared
	done   []bool // a stored part is not captured again: that may be all that tells equal messages apart
}

func (in *Capturer) inParts(s *deadletter.Source, arrivals []prepared) *batchInParts {
	n := min(max(len(arrivals)/partSize, 1), captureParts)
	// SQLite has one writer, and a journal one transaction.
	if in.Alone || len(arrivals) > 0 && journaled(arrivals[0].Arrival) {
		n = 1
	}
	parts := partsOf(arrivals, n)
	return &batchInParts{in: in, source: s, size: len(arrivals), parts: parts, done: make([]bool, len(parts))}
}

// store captures the parts that are not stored yet, also after an error. Errors are those of Inbox.Capture, with
// ErrPartly if some parts are stored.
func (b *batchInParts) store(ctx context.Context) error {
	t, err := b.in.termsOf(ctx, b.source)
	if err != nil {
		return b.partly(err)
	}
	newID, errs := b.in.NewIDs(b.size), make([]error, len(b.parts))
	var all sync.WaitGroup
	for i, part := range b.parts {
		if b.done[i] {
			continue
		}
		all.Go(func() {
			_, errs[i] = b.in.captureWith(ctx, t, part, newID, nil)
			b.done[i] = errs[i] == nil
		})
	}
	all.Wait()
	return b.partly(errors.Join(errs...))
}

func (b *batchInParts) partly(err error) error {
	if err != nil && slices.Contains(b.done, true) {
		return fmt.Errorf("%w, the rest is not: %w", seam.ErrPartly, err)
	}
	return err
}

func partsOf(arrivals []prepared, n int) [][]prepared {
	if n == 1 {
		return [][]prepared{arrivals}
	}
	parts := make([][]prepared, n)
	for _, a := range arrivals {
		at := maphash.String(partSeed, cmp.Or(string(a.Content.Key), a.canonical)) % uint64(n)
		parts[at] = append(parts[at], a)
	}
	return slices.DeleteFunc(parts, func(p []prepared) bool { return len(p) == 0 })
}

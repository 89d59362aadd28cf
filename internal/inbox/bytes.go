package inbox

import (
	"context"

	"github.com/taskerhq/tasker/internal/task"
)

// byBytes divides letters, in their order, into parts of at most so many and of about so many bytes: a part ends with
// the letter that exceeds them. Who reads letters whole reads a part at a time: 500 of the largest do not fit into
// memory.
func (in *Inbox) byBytes(ctx context.Context, ids []task.ID, count, bytes int) ([][]task.ID, error) {
	sizes, err := in.store.LetterBytes(ctx, ids)
	if err != nil {
		return nil, err
	}
	var parts [][]task.ID
	first, size := 0, 0
	for i, id := range ids {
		if size += sizes[id]; size >= bytes || i+1-first == count || i+1 == len(ids) {
			parts = append(parts, ids[first:i+1])
			first, size = i+1, 0
		}
	}
	return parts, nil
}

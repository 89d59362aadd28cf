package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/task"
)

// No body is read for it: an edit counts as much as the original, or as what is stored of it if that is more.
func (s letterRows) LetterBytes(ctx context.Context, ids []task.ID) (map[task.ID]int, error) {
	sizes := make(map[task.ID]int, len(ids))
	_, err := collectByIDs(ctx, s.SQL, ids, func(row Row) (none struct{}, err error) {
		var id task.ID
		var kept, around, edited, packed int
		err = row.Scan(s.ScanID(&id), &kept, &around, &edited, &packed)
		sizes[id] = kept + around
		if edited != 0 {
			sizes[id] += max(kept+around, packed)
		}
		return none, err
	}, `SELECT l.letter_id, l.kept_bytes, coalesce(length(l.message_key), 0) + coalesce(length(l.headers), 0), l.edited,
 coalesce((SELECT length(b.edited) FROM tasker_letter_bodies b WHERE b.letter_id = l.letter_id), 0)
 FROM tasker_letters l WHERE l.letter_id IN `, ``)
	return sizes, err
}

package memstore

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

type entry struct {
	key int64
	id  task.ID
}

// compareEntries orders by key, then by ID, like the index of the SQL stores.
func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.key, b.key), compareIDs(a.id, b.id))
}

// compareIDs orders IDs as bytes, which is by sequence.
func compareIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }

// queue is an ordered set of entries. Steps mostly arrive at the end and leave at the front, where a sorted slice is
// quick. Readers and writer have separate states, and thus separate queues.
type queue struct{ entries []entry }

func (q *queue) add(e entry) {
	if at, found := slices.BinarySearchFunc(q.entries, e, compareEntries); !found {
		q.entries = slices.Insert(q.entries, at, e)
	}
}

func (q *queue) remove(e entry) {
	at, found := slices.BinarySearchFunc(q.entries, e, compareEntries)
	switch {
	case !found:
	case at == 0:
		// The array keeps the removed entry until it grows; an entry is 24 bytes.
		q.entries = q.entries[1:] // without moving the rest
	default:
		q.entries = slices.Delete(q.entries, at, at+1)
	}
}

// first returns up to limit entries, lowest first. They are part of the queue: callers must not change or keep them.
func (q *queue) first(limit int) []entry { return q.entries[:min(max(limit, 0), len(q.entries))] }

// below counts the entries with a lower key. It is also the index of the first other one.
func (q *queue) below(key int64) int {
	at, _ := slices.BinarySearchFunc(q.entries, key, func(e entry, key int64) int {
		if e.key < key {
			return -1
		}
		return 1
	})
	return at
}

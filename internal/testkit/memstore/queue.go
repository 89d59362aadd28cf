package memstore

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// entry is the place of a step in a queue.
type entry struct {
	key int64
	id  task.ID
}

// compareEntries orders entries by key, then by ID, as the index of the SQL stores does.
func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.key, b.key), compareIDs(a.id, b.id))
}

// compareIDs orders IDs as bytes, which is by sequence.
func compareIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }

// queue is a set of entries in order. Steps mostly arrive at the end and leave at the front, where a sorted slice is
// quick.
// Readers share no queue with the writer: each of the two states has its own.
type queue struct{ entries []entry }

// add inserts an entry; a second time has no effect.
func (q *queue) add(e entry) {
	if at, found := slices.BinarySearchFunc(q.entries, e, compareEntries); !found {
		q.entries = slices.Insert(q.entries, at, e)
	}
}

// remove deletes an entry, if it is there.
func (q *queue) remove(e entry) {
	at, found := slices.BinarySearchFunc(q.entries, e, compareEntries)
	switch {
	case !found:
	case at == 0:
		// The array keeps the removed entry until it grows next; an entry is 24 bytes.
		q.entries = q.entries[1:] // without moving the rest
	default:
		q.entries = slices.Delete(q.entries, at, at+1)
	}
}

// first returns up to limit entries, lowest first. The caller must not change or keep them.
// They are part of the queue itself, so the next change may move them.
func (q *queue) first(limit int) []entry { return q.entries[:min(max(limit, 0), len(q.entries))] }

// below counts the entries with a lower key.
// It is also the index of the first entry with that key or a higher one.
func (q *queue) below(key int64) int {
	at, _ := slices.BinarySearchFunc(q.entries, key, func(e entry, key int64) int {
		if e.key < key {
			return -1
		}
		return 1
	})
	return at
}

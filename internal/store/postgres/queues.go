package postgres

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// queues is this process's view of the empty parts of the queue index. A claim starts to read after the entries taken
// before: those stay in the index until a vacuum, which an old snapshot anywhere in the database can delay for hours.
//
// The view may be wrong: a step that was committed late, or given back after a claim failed elsewhere, has a key below
// the floor. So each queue is read from its very start at intervals; a missed step is late, not lost.
type queues struct {
	mu sync.Mutex
	of map[int64]*queue
}

type queue struct {
	// floors are the keys below which nothing is ready, one for each stream; next and after become floors when they are
	// old enough.
	floors, next, after map[int64]int64
	turned              time.Time
	swept               time.Time
	pause               time.Duration // until the next one
	vacant              time.Time
	filled              time.Time
}

const (
	// settling is the time in which a key below the floor may still appear: concurrent transactions commit in any
	// order.
	settling = 250 * time.Millisecond
	// sweepPause is the minimum time between two reads of a queue from its very start; such reads may take at most one
	// part in sweepShare of the time.
	sweepPause = time.Second
	sweepShare = 20
	// vacantFor is the time for which a queue seen empty counts as empty, unless an event reports the opposite.
	vacantFor = 1500 * time.Millisecond
	// bandBits are the bits of a key below its band; see task.StrictKey.
	bandBits = 52
	// maxStreams bounds the known streams of one queue: one for each level in use, and a few more after a change of the
	// order.
	maxStreams = 512
	maxQueues  = 20_000
	// ahead bounds how far another process's clock may be ahead of this one's.
	ahead = 5 * time.Second
)

// A stream is a set of keys of a queue that are a time plus the same number: those of ready steps of one level. The key
// of a new step is that number plus the present, or later. In strict order each stream has its own band; in other
// orders several share a band.
func streamOf(s *task.Step) int64 {
	if s.Queue <= 0 {
		return 0
	}
	return s.Key - int64(s.ReadyAt)
}

func bandOf(key int64) int64 { return key >> bandBits }

func newQueues() *queues { return &queues{of: map[int64]*queue{}} }

// forgetAll makes every queue be read from its very start: a replaced database may have steps anywhere.
func (q *queues) forgetAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.of)
}

// get returns the view of a queue. The caller holds mu.
func (q *queues) get(id int64) *queue {
	k := q.of[id]
	if k == nil {
		if len(q.of) >= maxQueues { // an unknown queue is read from its very start
			clear(q.of)
		}
		k = &queue{floors: map[int64]int64{}, next: map[int64]int64{}, after: map[int64]int64{}, pause: sweepPause}
		q.of[id] = k
	}
	return k
}

type span struct{ queue, low, high int64 }

// spans returns the parts of queues to read, in the order of keys within each queue, and whether some of them are read
// whole.
func (q *queues) spans(ids []int64, now time.Time) (spans []span, whole bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		k := q.get(id)
		if now.Sub(k.swept) >= k.pause {
			k.swept = now
			whole = true
			spans = append(spans, span{id, math.MinInt64, math.MaxInt64})
			continue
		}
		spans = k.spans(spans, id, task.At(now.Add(ahead)))
	}
	return spans, whole
}

// spans adds the parts of one queue. There is nothing below the floors of a band's streams, nor between the present of
// one stream and the floor of the next: only taken entries of other streams are there.
func (k *queue) spans(spans []span, id int64, now task.Instant) []span {
	streams := slices.SortedFunc(maps.Keys(k.floors), func(a, b int64) int {
		return cmp.Compare(k.floors[a], k.floors[b])
	})
	low, present, band := int64(math.MinInt64), int64(math.MinInt64), int64(math.MinInt64)
	for _, stream := range streams {
		floor := k.floors[stream]
		switch of := bandOf(floor); {
		case of != band:
			if start := of << bandBits; start > low {
				spans = append(spans, span{id, low, start - 1})
			}
			low, present, band = floor, stream+int64(now), of
		case floor > present:
			spans = append(spans, span{id, low, present})
			low, present = floor, stream+int64(now)
		default:
			present = max(present, stream+int64(now))
		}
	}
	return append(spans, span{id, low, math.MaxInt64})
}

// addStream adds a stream. If its band has others, the whole band is read until the floor of this stream is known.
func (k *queue) addStream(stream, key int64) {
	if _, ok := k.floors[stream]; ok {
		return
	}
	if len(k.floors)+len(k.next)+len(k.after) > maxStreams {
		k.floors, k.next, k.after, k.swept = map[int64]int64{}, map[int64]int64{}, map[int64]int64{}, time.Time{}
	}
	for _, floor := range k.floors {
		if bandOf(floor) == bandOf(key) {
			k.floors[stream] = bandOf(key) << bandBits
			return
		}
	}
}

// noteSweep records the duration of reading queues whole. The next one follows after 20 times that duration, at least a
// second.
func (q *queues) noteSweep(ids []int64, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		q.get(id).pause = max(sweepPause, sweepShare*d)
	}
}

// noteTaken records that everything in the queue up to a key of a stream has been taken. It becomes a floor after one
// to two times settling, because a transaction that began earlier may still commit a lower key.
func (q *queues) noteTaken(id, stream, key int64, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.get(id)
	if now.Sub(k.turned) >= settling {
		maps.Copy(k.floors, k.next)
		k.next, k.after, k.turned = k.after, map[int64]int64{}, now
	}
	k.addStream(stream, key)
	if was, ok := k.after[stream]; !ok || key > was {
		k.after[stream] = key
	}
	for other, floor := range k.floors {
		// a new step there has at least a key of now
		if up := min(key, other+int64(task.At(now))); other != stream && bandOf(floor) == bandOf(key) &&
			up > max(floor, k.after[other]) {
			k.after[other] = up
		}
	}
}

// noteEmpty records that the queues were empty. An event during the read is newer than its result. now is the time
// before the read.
func (q *queues) noteEmpty(ids []int64, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		k := q.get(id)
		if now.After(k.filled) {
			k.vacant = now
		}
	}
}

// isVacant reports whether this process has seen the queue empty within vacantFor.
func (q *queues) isVacant(id int64, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.vacant(id, now)
}

func (q *queues) occupiedOf(ids []int64, now time.Time, filled map[int64]struct{}) []int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	some := make([]int64, 0, len(ids))
	for _, id := range ids {
		if _, ok := filled[id]; ok || !q.vacant(id, now) {
			some = append(some, id)
		}
	}
	return some
}

// vacant is isVacant for a caller that holds mu.
func (q *queues) vacant(id int64, now time.Time) bool {
	k := q.of[id]
	return k != nil && k.vacant.After(k.filled) && now.Sub(k.vacant) < vacantFor
}

func (q *queues) occupied(ids map[int64]struct{}, now time.Time) {
	if len(ids) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for id := range ids {
		q.get(id).filled = now
	}
}

// lowered records that a step of a stream was queued, possibly with a key below the floor.
func (q *queues) lowered(id, stream, key int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k, ok := q.of[id]
	if !ok {
		return
	}
	k.addStream(stream, key)
	for _, floors := range []map[int64]int64{k.floors, k.next, k.after} {
		if floor, ok := floors[stream]; ok && key < floor {
			floors[stream] = key
		}
	}
}

func columns(spans []span) (ids, lows, highs []int64) {
	for _, s := range spans {
		ids, lows, highs = append(ids, s.queue), append(lows, s.low), append(highs, s.high)
	}
	return ids, lows, highs
}

// floor returns the key at which to start reading a queue with one band, and whether that is its very start.
func (q *queues) floor(id int64, now time.Time) (low int64, whole bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.get(id)
	if now.Sub(k.swept) >= k.pause {
		k.swept = now
		return math.MinInt64, true
	}
	low = math.MinInt64
	for _, floor := range k.floors {
		low = max(low, floor)
	}
	return low, false
}

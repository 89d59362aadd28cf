package postgres

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// queues is what this process knows of where in the queue index there is
// nothing. A claim starts to read behind the entries that were taken before:
// those stay in the index until a vacuum, which an old snapshot anywhere in the
// database can hold up for hours.
//
// What is known may be wrong: a step that was committed late, or given back by a
// claim that failed elsewhere, has a key that was passed already. So a queue is
// read from its very start once in a while; what was missed is late, not lost.
type queues struct {
	mu sync.Mutex
	of map[int64]*queue
}

// queue is one route, or one of the queues that are not routes.
type queue struct {
	// floors are the keys below which nothing is ready, one for each stream; next
	// and after become floors when what they know is old enough.
	floors, next, after map[int64]int64
	turned              time.Time
	swept               time.Time     // last read from its very start
	pause               time.Duration // until it is again
	vacant              time.Time     // when it was seen to be empty last
	filled              time.Time     // when this process heard last that it is not
}

const (
	// settling is how long a key that was passed may still turn up: two
	// transactions at once commit in any order.
	settling = 250 * time.Millisecond
	// sweepPause is the minimal time between two reads of a queue from its very start; and a read may take at
	// most a part in sweepShare of the time.
	sweepPause = time.Second
	sweepShare = 20
	// vacantFor is how long a queue that was seen to be empty is taken for empty,
	// unless this process hears otherwise.
	vacantFor = 1500 * time.Millisecond
	// bandBits are the bits of a key below its band; see task.StrictKey.
	bandBits = 52
	// maxStreams bounds what is known of one queue. There are as many streams as
	// levels in use, and a few more after the order has changed.
	maxStreams = 512
	// maxQueues bounds the queues about which something is known.
	maxQueues = 20_000
	// ahead is how far ahead of this process's time another one's may be.
	ahead = 5 * time.Second
)

// A stream is what the keys of a queue have in common that are a time plus the
// same number: of ready steps of one level. The key of a new one is its number and
// the present, or later. In strict order each stream has a band of its own; in other orders
// several go through one another in the same band.
func streamOf(s *task.Step) int64 {
	if s.Queue <= 0 {
		return 0
	}
	return s.Key - int64(s.ReadyAt)
}

func bandOf(key int64) int64 { return key >> bandBits }

func newQueues() *queues { return &queues{of: map[int64]*queue{}} }

// forgetAll drops everything: every queue is read from its very start.
func (q *queues) forgetAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.of)
}

func (q *queues) get(id int64) *queue {
	k := q.of[id]
	if k == nil {
		if len(q.of) >= maxQueues { // what is not known is read from its very start
			clear(q.of)
		}
		k = &queue{floors: map[int64]int64{}, next: map[int64]int64{}, after: map[int64]int64{}, pause: sweepPause}
		q.of[id] = k
	}
	return k
}

// span is a part of a queue: keys from low to high.
type span struct{ queue, low, high int64 }

// spans returns the parts of queues that have to be read, in the order of keys
// within each queue, and whether some of them are read whole.
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

// spans adds the parts of one queue. Below the floors of a band's streams there is
// nothing, nor is there anything between the present of one stream and the floor of the
// next: that is where steps of others were taken from.
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

// addStream makes a stream known. Where others are known in its band, all of the band
// is read until it is known how far this one has been taken.
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

// noteSweep notes how long it took to read queues whole.
func (q *queues) noteSweep(ids []int64, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		q.get(id).pause = max(sweepPause, sweepShare*d)
	}
}

// noteTaken notes that everything in the queue up to a key of a stream has been taken.
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
		// what is new there has a key of now at the least
		if up := min(key, other+int64(task.At(now))); other != stream && bandOf(floor) == bandOf(key) &&
			up > max(floor, k.after[other]) {
			k.after[other] = up
		}
	}
}

// noteEmpty notes that nothing was found in the queues.
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

// isVacant reports whether this process knows the queue to be empty.
func (q *queues) isVacant(id int64, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.vacant(id, now)
}

// occupiedOf returns those of the queues that may not be empty, or are in filled.
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

func (q *queues) vacant(id int64, now time.Time) bool {
	k := q.of[id]
	return k != nil && k.vacant.After(k.filled) && now.Sub(k.vacant) < vacantFor
}

// occupied records that steps became ready: earlier reads have not seen them.
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

// lowered notes that a step of a stream was queued, with a key that may be below
// what was passed.
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

// columns turns spans into the arguments of a statement.
func columns(spans []span) (ids, lows, highs []int64) {
	for _, s := range spans {
		ids, lows, highs = append(ids, s.queue), append(lows, s.low), append(highs, s.high)
	}
	return ids, lows, highs
}

// floor is the key from which a queue that has one band has to be read, and
// whether that is its very start.
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

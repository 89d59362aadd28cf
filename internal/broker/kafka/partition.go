package kafka

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// partition is assigned to a receiver until the group takes it away. The receiver guards it.
type partition struct {
	number int32
	// open are polled records that are not committed, ascending.
	open []*entry
	// delivered counts open records at the caller, neither acknowledged nor given back.
	delivered int
	gone      bool // not ours any more
	leaving   bool // to be taken away; it delivers nothing more
}

// entry is a record before its commit, and the receipt of its message.
type entry struct {
	of        *partition
	record    *kgo.Record // nil once it is settled
	offset    int64
	epoch     int32
	delivered bool
	settled   bool
}

// add notes a polled record. Control records, which end transactions, are settled already: otherwise the group would
// seem to lag forever.
func (p *partition) add(r *kgo.Record) *entry {
	e := &entry{of: p, record: r, offset: r.Offset, epoch: r.LeaderEpoch, settled: r.Attrs.IsControl()}
	p.open = append(p.open, e)
	return e
}

func (e *entry) settle() {
	if e.delivered {
		e.delivered = false
		e.of.delivered--
	}
	e.settled, e.record = true, nil
}

// commit returns the offset to commit, up to the first open record; ok: it is new.
func (p *partition) commit() (to kgo.EpochOffset, ok bool) {
	done := 0
	for done < len(p.open) && p.open[done].settled {
		done++
	}
	if done == 0 {
		return to, false
	}
	last := p.open[done-1]
	return kgo.EpochOffset{Epoch: last.epoch, Offset: last.offset + 1}, true
}

func (p *partition) committed(to int64) {
	for len(p.open) > 0 && p.open[0].offset < to {
		p.open = p.open[1:]
	}
}

// assigned notes the partitions of the receiver. The client calls it, and revoked and lost, one at a time, and never
// between a poll and AllowRebalance.
func (r *receiver) assigned(_ context.Context, _ *kgo.Client, given map[string][]int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range given[r.topic] {
		r.partitions[n] = &partition{number: n}
	}
}

// revoked gives partitions back. The caller may acknowledge delivered messages first, so that they do not come again to
// another member; the group gets heartbeats meanwhile.
func (r *receiver) revoked(_ context.Context, _ *kgo.Client, taken map[string][]int32) {
	late, cancel := context.WithTimeout(r.ended, handOver)
	defer cancel()
	r.mu.Lock()
	r.withdraw(taken[r.topic])
	r.mu.Unlock()
	r.await(late, func() bool { return r.err != nil || !r.held(taken[r.topic]) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(taken[r.topic])
}

// lost notes that the group has expelled the receiver: nothing of these partitions can be committed.
func (r *receiver) lost(_ context.Context, _ *kgo.Client, taken map[string][]int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withdraw(taken[r.topic])
	r.forget(taken[r.topic])
}

// withdraw removes undelivered messages from the buffer. The caller holds mu.
func (r *receiver) withdraw(taken []int32) {
	for _, n := range taken {
		if p := r.partitions[n]; p != nil {
			p.leaving = true
		}
	}
	r.ready = slices.DeleteFunc(r.ready, func(e *entry) bool {
		if e.of.leaving {
			r.bytes -= sizeOf(e.record)
		}
		return e.of.leaving
	})
	r.signal()
}

// held reports whether messages of partitions can still be acknowledged, or a commit is under way. The caller holds mu.
func (r *receiver) held(taken []int32) bool {
	for _, n := range taken {
		if p := r.partitions[n]; p != nil && (p.delivered > 0 || r.committing > 0) {
			return true
		}
	}
	return false
}

// forget drops partitions. The caller holds mu.
func (r *receiver) forget(taken []int32) {
	for _, n := range taken {
		if p := r.partitions[n]; p != nil {
			p.gone = true
			delete(r.partitions, n)
		}
		delete(r.starts, n)
	}
	r.signal()
}

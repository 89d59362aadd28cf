package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"
)

// partition is a partition that the group has given to a receiver, until it takes it away. The receiver guards it.
type partition struct {
	number int32
	// open are the records that were polled and are not committed, rising.
	open []*entry
	// delivered counts those of them that the caller has, and has neither acknowledged nor given back.
	delivered int
	gone      bool // the partition is not ours any more
	leaving   bool // it will not be; nothing more of it is delivered
}

// entry is a record on its way to being committed. It is the receipt of its message.
type entry struct {
	of        *partition
	record    *kgo.Record // nil once it is settled
	offset    int64
	epoch     int32
	delivered bool
	settled   bool
}

// add notes a record that was polled. Control records, which end transactions, are settled already: without them the
// group would seem to lag behind for ever.
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

// commit returns how far the partition may be committed: up to the first record that is not settled. ok is false if
// that is committed already.
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

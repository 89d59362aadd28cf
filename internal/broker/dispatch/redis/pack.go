package redis

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The layout in Redis, as in scripts/prelude.lua.
const (
	idSize      = 16
	offeredSize = 36
	heldSize    = offeredSize + 44
	placeSize   = idSize + 16
	nodeSize    = 8
	// topBit makes the order of bytes that of signed numbers.
	topBit = 1 << 63
)

// errAnswer means a bug, or foreign data under our keys.
var errAnswer = errors.New("the answer is not one of ours")

// big-endian, so that bytes sort like numbers.
var big = binary.BigEndian

func put64(b []byte, n int64) []byte { return big.AppendUint64(b, uint64(n)) }

func putKey(b []byte, key int64) []byte { return big.AppendUint64(b, uint64(key)^topBit) }

// putOffered appends a ready step as Redis stores it. The flipped bit sorts the signed priority, as in putKey.
func putOffered(b []byte, o *engine.Offered) []byte {
	b = put64(b, o.Route)
	b = putKey(b, o.Key)
	b = put64(b, o.Timeout.Microseconds())
	b = put64(b, o.Token)
	return big.AppendUint32(b, uint32(o.Priority)^1<<31)
}

func putPlace(b []byte, o *engine.Offered) []byte {
	return putKey(put64(append(b, o.Step[:]...), o.Token), o.Key)
}

func putProgress(b []byte, percent int, note string) []byte {
	b = big.AppendUint32(b, uint32(percent))
	return append(b, note...)
}

// hold decodes a step with its holder. It checks only the length: the scripts wrote the bytes.
func hold(b []byte) (engine.Hold, error) {
	if len(b) < idSize+heldSize {
		return engine.Hold{}, errAnswer
	}
	var h engine.Hold
	copy(h.Step[:], b)
	b = b[idSize:]
	next := func() int64 {
		n := int64(big.Uint64(b))
		b = b[8:]
		return n
	}
	h.Route = next()
	h.Key = next() ^ -topBit
	h.Timeout = time.Duration(next()) * time.Microsecond
	h.Token = next()
	h.Priority = int(int32(big.Uint32(b) ^ 1<<31))
	b = b[4:]
	h.Worker = next()
	h.AssignedAt = task.Instant(next())
	h.StartedAt = task.Instant(next())
	h.Until = task.Instant(next())
	h.LookAt = task.Instant(next())
	h.Progress = int(int32(big.Uint32(b)))
	h.Note = string(b[4:])
	return h, nil
}

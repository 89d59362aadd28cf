package kafka

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// destination is where a message is sent. There are these forms:
//
//	TOPIC            the partition that its key belongs to, as Java's client finds it
//	TOPIC#N          the partition N
//	TOPIC#original   the partition that its headers name, as those of Spring and Kafka Connect do
type destination struct {
	topic     string
	partition int32 // -1: not a certain one
	original  bool
}

func parse(text string) (destination, error) {
	topic, where, certain := strings.Cut(text, "#")
	to := destination{topic: topic, partition: -1}
	switch {
	case !certain:
	case where == "original":
		to.original = true
	default:
		n, err := strconv.ParseInt(where, 10, 32)
		if err != nil || n < 0 {
			return to, fmt.Errorf("%w: a destination is written TOPIC, TOPIC#PARTITION or TOPIC#original",
				driver.ErrRefused)
		}
		to.partition = int32(n)
	}
	return to, nil
}

// of returns the partition to which one message is sent, -1 for that of its key.
func (to destination) of(m *driver.Message, partitions int) (int32, error) {
	at := to.partition
	if to.original {
		var ok bool
		if at, ok = originalPartition(m); !ok {
			return -1, fmt.Errorf("%w: the message does not say in which partition it was", driver.ErrRefused)
		}
	}
	if int(at) >= partitions {
		return -1, fmt.Errorf("%w: the topic %q has no partition %d", driver.ErrNotFound, to.topic, at)
	}
	return at, nil
}

// originalPartition reads the headers that name a partition: four bytes by Spring, else text.
func originalPartition(m *driver.Message) (int32, bool) {
	for _, h := range slices.Backward(m.Headers) { // our own is the last
		switch h.Name {
		case "kafka_dlt-original-partition":
			if len(h.Value) == 4 && h.Value[0] < 0x80 {
				return int32(binary.BigEndian.Uint32(h.Value)), true
			}
		case headerPartition, "__connect.errors.partition", "original_partition":
			if n, err := strconv.ParseInt(string(h.Value), 10, 32); err == nil && n >= 0 {
				return int32(n), true
			}
		}
	}
	return 0, false
}

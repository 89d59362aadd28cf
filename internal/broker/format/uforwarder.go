package format

import (
	"errors"
	"regexp"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// uForwarder is the convention of Uber's uForwarder: the key of a record in a retry or dead letter topic is a protobuf
// with the origin, the counts and the original key. It has no error.
var uForwarder = convention{
	name: "uforwarder",
	follows: func(m *message) bool {
		meta, err := parseUForwarder(m.Key)
		return err == nil && topicName.MatchString(meta.topic)
	},
	decode: decodeUForwarder,
}

type uForwarderKey struct {
	topic   string // field 2
	key     []byte // field 6
	numbers map[protowire.Number]int64
}

const (
	uRetries   protowire.Number = 1
	uPartition protowire.Number = 3
	uOffset    protowire.Number = 4
	uTimestamp protowire.Number = 5
	uTimeouts  protowire.Number = 7
)

func decodeUForwarder(m *message, d *Decoded) error {
	meta, err := parseUForwarder(m.Key)
	if err != nil {
		return err
	}
	d.Origin = meta.topic
	d.OriginPosition = position(strconv.FormatInt(meta.numbers[uPartition], 10),
		strconv.FormatInt(meta.numbers[uOffset], 10))
	// Retries do not count the first attempt.
	d.Attempts = int(min(max(meta.numbers[uRetries], 0), maxCount)) + 1
	d.detail("timeout_count", strconv.FormatInt(meta.numbers[uTimeouts], 10))
	d.detail("timestamp", shown(since1970(meta.numbers[uTimestamp])))
	d.Content.Key = meta.key
	return nil
}

// parseUForwarder reads a key strictly: any bytes may be a key, and many short ones are a valid protobuf.
func parseUForwarder(key []byte) (*uForwarderKey, error) {
	errNot := errors.New("its key is not a DLQMetadata")
	out := &uForwarderKey{numbers: map[protowire.Number]int64{}}
	for len(key) > 0 {
		number, kind, n := protowire.ConsumeTag(key)
		if n < 0 {
			return nil, errNot
		}
		key = key[n:]
		switch {
		case number == 2 && kind == protowire.BytesType:
			var topic []byte
			topic, n = protowire.ConsumeBytes(key)
			out.topic = string(topic)
		case number == 6 && kind == protowire.BytesType:
			out.key, n = protowire.ConsumeBytes(key)
		case (number == uRetries || number >= uPartition && number <= uTimestamp || number == uTimeouts) &&
			kind == protowire.VarintType:
			var value uint64
			value, n = protowire.ConsumeVarint(key)
			out.numbers[number] = int64(value)
		default: // no field of DLQMetadata: the key is something else
			return nil, errNot
		}
		if n < 0 {
			return nil, errNot
		}
		key = key[n:]
	}
	if out.topic == "" {
		return nil, errNot
	}
	return out, nil
}

var topicName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

package format

import (
	"errors"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// uForwarder is what Uber's uForwarder writes: the key of a record in a retry or dead letter topic is a protobuf with
// the origin and the counts, in which the original key is a field. It tells no error.
var uForwarder = convention{
	name: "uforwarder",
	follows: func(m *message) bool {
		meta, err := parseUForwarder(m.Key)
		return err == nil && isTopic(meta.topic)
	},
	decode: decodeUForwarder,
}

// uForwarderKey is the protobuf message DLQMetadata.
type uForwarderKey struct {
	topic   string // field 2
	key     []byte // field 6
	numbers map[protowire.Number]int64
}

// The numbers of its fields that are integers.
const (
	uRetries   protowire.Number = 1
	uPartition protowire.Number = 3
	uOffset    protowire.Number = 4
	uTimestamp protowire.Number = 5
	uTimeouts  protowire.Number = 7
)

// decodeUForwarder takes the original key out of the record's. The failure stays empty: there is nothing to tell.
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

// parseUForwarder reads a key strictly: any bytes may be a key, and many short ones are a protobuf of some kind.
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
		case (number == 2 || number == 6) && kind == protowire.BytesType:
			value, n := protowire.ConsumeBytes(key)
			if n < 0 {
				return nil, errNot
			}
			if number == 2 {
				out.topic = string(value)
			} else {
				out.key = value
			}
			key = key[n:]
		case (number == uRetries || number >= uPartition && number <= uTimestamp || number == uTimeouts) &&
			kind == protowire.VarintType:
			value, n := protowire.ConsumeVarint(key)
			if n < 0 {
				return nil, errNot
			}
			out.numbers[number] = int64(value)
			key = key[n:]
		// A field that DLQMetadata does not have: the key is something else.
		default:
			return nil, errNot
		}
	}
	if out.topic == "" {
		return nil, errNot
	}
	return out, nil
}

func isTopic(s string) bool {
	if s == "" || len(s) > 249 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

package kafka

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/deadletter"
)

// The headers of a message that stand for what is not payload, key or header of a record. A header of an application
// whose name begins with own gets the prefix foreign.
const (
	own             = "kafka-"
	foreign         = "kafka-header-"
	headerTimestamp = "kafka-timestamp"    // the event time in milliseconds, where the producer has set it
	headerValue     = "kafka-value"        // "null": the record has no value, as a tombstone
	headerNulls     = "kafka-null-headers" // names of headers without a value, as JSON
	// headerPartition is the partition in which the record was before it died, where its headers say so.
	headerPartition = "kafka-original-partition"
	null            = "null"
)

// position identifies a record. A topic that was deleted and created again has another ID, and the same offsets.
func position(topic string, id kadm.TopicID, r *kgo.Record) string {
	at := fmt.Sprintf("%s/%d@%d", topic, r.Partition, r.Offset)
	if id != (kadm.TopicID{}) {
		at += "#" + base64.RawURLEncoding.EncodeToString(id[:])
	}
	return at
}

// message turns a record into a message.
func message(r *kgo.Record, id kadm.TopicID) driver.Message {
	m := driver.Message{Position: position(r.Topic, id, r), Key: r.Key, Payload: r.Value, Origin: r.Topic,
		Log: driver.LogPart{Partition: r.Partition, From: r.Offset, To: r.Offset + 1}}
	if r.Timestamp.UnixMilli() >= 0 { // records of very old producers have -1
		m.Time = r.Timestamp
	}
	var nulls []string
	m.Headers = make([]deadletter.Header, 0, len(r.Headers)+1)
	for _, h := range r.Headers {
		name := h.Key
		if strings.HasPrefix(name, own) {
			name = foreign + name
		}
		if h.Value == nil {
			nulls = append(nulls, name)
			h.Value = []byte{}
		}
		m.Headers = append(m.Headers, deadletter.Header{Name: name, Value: h.Value})
	}
	if at, ok := eventTime(r); ok {
		m.Headers = append(m.Headers, textHeader(headerTimestamp, strconv.FormatInt(at, 10)))
	}
	// What says so is no part of the original, and is not sent back.
	if n, ok := originalPartition(&m); ok {
		m.Headers = append(m.Headers, textHeader(headerPartition, strconv.Itoa(int(n))))
	}
	if r.Value == nil {
		m.Payload = []byte{}
		m.Headers = append(m.Headers, textHeader(headerValue, null))
	}
	if len(nulls) > 0 {
		list, _ := json.Marshal(slices.Compact(nulls)) // texts can be written
		m.Headers = append(m.Headers, deadletter.Header{Name: headerNulls, Value: list})
	}
	return m
}

// eventTime returns the time in milliseconds that the producer of a record has set; of a dead letter by Spring or by
// package kafka, the producer of the original.
func eventTime(r *kgo.Record) (ms int64, ok bool) {
	ms, ok = r.Timestamp.UnixMilli(), r.Attrs.TimestampType() == 0
	for _, h := range r.Headers {
		switch {
		case h.Key == "kafka_dlt-original-timestamp" && len(h.Value) == 8:
			ms = int64(binary.BigEndian.Uint64(h.Value))
		case h.Key == "kafka_dlt-original-timestamp-type":
			ok = string(h.Value) == "CreateTime"
		case h.Key == "original_timestamp":
			if at, err := strconv.ParseInt(string(h.Value), 10, 64); err == nil {
				ms, ok = at, true
			}
		}
	}
	return ms, ok && ms >= 0
}

func textHeader(name, value string) deadletter.Header {
	return deadletter.Header{Name: name, Value: []byte(value)}
}

// record turns a message into a record.
func record(topic string, partition int32, m *driver.Message) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: partition, Key: m.Key, Value: m.Payload, Timestamp: m.Time}
	if r.Value == nil {
		r.Value = []byte{} // null is said by a header
	}
	var nulls []string
	for _, h := range m.Headers {
		switch h.Name {
		case headerTimestamp:
			if ms, err := strconv.ParseInt(string(h.Value), 10, 64); err == nil && ms >= 0 {
				r.Timestamp = time.UnixMilli(ms)
			}
		case headerValue:
			if string(h.Value) == null && len(m.Payload) == 0 { // else it was edited
				r.Value = nil
			}
		case headerNulls:
			_ = json.Unmarshal(h.Value, &nulls) // one that was edited into something else names none
		}
	}
	for _, h := range m.Headers {
		name, isForeign := strings.CutPrefix(h.Name, foreign)
		if strings.HasPrefix(h.Name, own) && !isForeign {
			continue
		}
		value := h.Value
		switch {
		case len(value) == 0 && slices.Contains(nulls, h.Name):
			value = nil
		case value == nil:
			value = []byte{}
		}
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: value})
	}
	return r
}

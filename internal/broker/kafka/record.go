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
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Headers for the parts of a record that are not payload, key or header. An application's header with the prefix own
// gets the prefix foreign.
const (
	own             = "kafka-"
	foreign         = "kafka-header-"
	headerTimestamp = "kafka-timestamp"    // event time in milliseconds, if the producer has set it
	headerValue     = "kafka-value"        // "null": no value, as in a tombstone
	headerNulls     = "kafka-null-headers" // headers without a value, as JSON: see nulls
	// headerPartition is the partition of the record before it died, by its headers.
	headerPartition = "kafka-original-partition"
	// headerOriginalTime belongs to a record sent with another time than its event time; see renewed.
	headerOriginalTime = "kafka-original-timestamp"
	noValue            = "null"
)

// nulls are the headers without a value: of each name, their places among the headers of the name.
type nulls map[string][]int

// readNulls reads that header. Older versions wrote a list of names: all empty headers of these names. An edited one
// may name none.
func readNulls(value []byte) func(name string, place int) bool {
	var all []string
	if json.Unmarshal(value, &all) == nil {
		return func(name string, _ int) bool { return slices.Contains(all, name) }
	}
	null := nulls{}
	_ = json.Unmarshal(value, &null)
	return func(name string, place int) bool { return slices.Contains(null[name], place) }
}

// position identifies a record. A topic that was deleted and created again has another ID, and the same offsets.
func position(topic string, id kadm.TopicID, r *kgo.Record) string {
	at := fmt.Sprintf("%s/%d@%d", topic, r.Partition, r.Offset)
	if id != (kadm.TopicID{}) {
		at += "#" + base64.RawURLEncoding.EncodeToString(id[:])
	}
	return at
}

func message(r *kgo.Record, id kadm.TopicID) driver.Message {
	m := driver.Message{Position: position(r.Topic, id, r), Key: r.Key, Payload: r.Value, Origin: r.Topic,
		Log: driver.LogPart{Partition: r.Partition, From: r.Offset, To: r.Offset + 1}}
	if r.Timestamp.UnixMilli() >= 0 { // records of very old producers have -1
		m.Time = r.Timestamp
	}
	null := nulls{}
	count := map[string]int{}
	_, isRenewed := originalTime(r)
	m.Headers = make([]deadletter.Header, 0, len(r.Headers)+1)
	for _, h := range r.Headers {
		if isRenewed && h.Key == headerOriginalTime {
			continue
		}
		name := h.Key
		if strings.HasPrefix(name, own) {
			name = foreign + name
		}
		if h.Value == nil {
			null[name] = append(null[name], count[name])
			h.Value = []byte{}
		}
		count[name]++
		m.Headers = append(m.Headers, deadletter.Header{Name: name, Value: h.Value})
	}
	if at, ok := eventTime(r); ok {
		m.Headers = append(m.Headers, textHeader(headerTimestamp, strconv.FormatInt(at, 10)))
	}
	// These headers are no part of the original, and are not sent back.
	if n, ok := originalPartition(&m); ok {
		m.Headers = append(m.Headers, textHeader(headerPartition, strconv.Itoa(int(n))))
	}
	if r.Value == nil {
		m.Payload = []byte{}
		m.Headers = append(m.Headers, textHeader(headerValue, noValue))
	}
	if len(null) > 0 {
		list, _ := json.Marshal(null)
		m.Headers = append(m.Headers, deadletter.Header{Name: headerNulls, Value: list})
	}
	return m
}

// eventTime returns the producer's time of a record in milliseconds; of a dead letter by Spring or by package kafka,
// and of a record sent back with another time, that of the original.
func eventTime(r *kgo.Record) (ms int64, ok bool) {
	if ms, ok = originalTime(r); ok {
		return ms, ok
	}
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

func timed(m driver.Message) bool {
	return !m.Time.IsZero() ||
		slices.ContainsFunc(m.Headers, func(h deadletter.Header) bool { return h.Name == headerTimestamp })
}

func textHeader(name, value string) deadletter.Header {
	return deadletter.Header{Name: name, Value: []byte(value)}
}

func record(topic string, partition int32, m *driver.Message) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: partition, Key: m.Key, Value: m.Payload, Timestamp: m.Time}
	if r.Value == nil {
		r.Value = []byte{} // a header represents null
	}
	isNull := readNulls(nil)
	for _, h := range m.Headers {
		switch h.Name {
		case headerTimestamp:
			if ms, err := strconv.ParseInt(string(h.Value), 10, 64); err == nil && ms >= 0 {
				r.Timestamp = time.UnixMilli(ms)
			}
		case headerValue:
			if string(h.Value) == noValue && len(m.Payload) == 0 { // else it was edited
				r.Value = nil
			}
		case headerNulls:
			isNull = readNulls(h.Value)
		}
	}
	count := map[string]int{}
	for _, h := range m.Headers {
		name, isForeign := strings.CutPrefix(h.Name, foreign)
		if strings.HasPrefix(h.Name, own) && !isForeign {
			continue
		}
		value := h.Value
		place := count[h.Name]
		count[h.Name]++
		switch {
		case len(value) == 0 && isNull(h.Name, place):
			value = nil
		case value == nil:
			value = []byte{}
		}
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: value})
	}
	return r
}

package format

import (
	"cmp"
	"fmt"
	"strconv"
)

// spring is the convention of Spring for Apache Kafka's dead letter topics, with or without retry topics. Partition,
// offset, timestamp and counts are big-endian integers; all others are text. With retry topics the headers of the
// original repeat: the first is the topic where the message began.
var spring = convention{
	name:    "kafka_dlt",
	follows: func(m *message) bool { return m.has("kafka_dlt-original-topic", "kafka_dlt-exception-fqcn") },
	decode:  decodeSpring,
}

// decodeSpring takes the first topic as the origin: a retry topic would delay a redrive again.
func decodeSpring(m *message, d *Decoded) error {
	const p = "kafka_dlt-"
	value := func(name string) string { return string(m.last(p + name)) }
	d.Origin = string(m.first(p + "original-topic"))
	d.OriginPosition = position(decimal(m.first(p+"original-partition")), decimal(m.first(p+"original-offset")))
	d.Handler = value("original-consumer-group")
	// Spring wraps the listener's exception: the cause is more precise.
	d.Failure.Type = cmp.Or(value("exception-cause-fqcn"), value("exception-fqcn"), value("key-exception-fqcn"))
	d.Failure.Message = cmp.Or(value("exception-message"), value("key-exception-message"))
	d.Stack = cmp.Or(value("exception-stacktrace"), value("key-exception-stacktrace"))
	for _, name := range []string{"retry_topic-attempts", "kafka_deliveryAttempt"} {
		if n, ok := integer(m.last(name)); ok && d.Attempts == 0 {
			d.Attempts = int(min(max(n, 0), maxCount))
		}
	}
	if wrapper := value("exception-fqcn"); wrapper != d.Failure.Type {
		d.detail("exception-fqcn", wrapper)
	}
	if n, ok := integer(m.first(p + "original-timestamp")); ok {
		d.detail("original-timestamp", shown(since1970(n)))
	}
	d.detail("original-timestamp-type", string(m.first(p+"original-timestamp-type")))
	d.Content.Headers = without(d.Content.Headers, withPrefix(p, "retry_topic-", "kafka_deliveryAttempt"))
	return nil
}

// integer reads a big-endian two's complement integer of 1 to 8 bytes: an int, a long, or Java's BigInteger.
func integer(value []byte) (int64, bool) {
	if len(value) == 0 || len(value) > 8 {
		return 0, false
	}
	n := int64(int8(value[0]))
	for _, b := range value[1:] {
		n = n<<8 | int64(b)
	}
	return n, true
}

func decimal(value []byte) string {
	if n, ok := integer(value); ok {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

func position(partition, offset string) string {
	p, err := strconv.ParseInt(partition, 10, 32)
	o, err2 := strconv.ParseInt(offset, 10, 64)
	if err != nil || err2 != nil || p < 0 || o < 0 {
		return ""
	}
	return fmt.Sprintf("%d@%d", p, o)
}

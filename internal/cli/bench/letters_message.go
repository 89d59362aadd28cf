package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// letterCause is the common part of a group's letters.
type letterCause struct {
	kind, stack, consumer string
}

// letterCauses makes stacks once, because making letters must not be measured.
func letterCauses(groups int) []letterCause {
	causes := make([]letterCause, groups)
	for i := range causes {
		kind := errorType(i)
		causes[i] = letterCause{kind: kind, stack: letterStack(kind), consumer: fmt.Sprintf("consumer-%d", i%10)}
	}
	return causes
}

// message is dead letter n with the headers of Spring for Apache Kafka (error, stack, origin); in a list as JSON.
func (r *letterRig) message(n int) driver.Message {
	if r.opts.Broker == brokerList {
		return r.jobFailure(n)
	}
	of := r.causes[n%len(r.causes)]
	header := func(name, value string) deadletter.Header { return deadletter.Header{Name: name, Value: []byte(value)} }
	return driver.Message{
		MessageID: fmt.Sprintf("m-%010d", n),
		Payload:   letterPayload(n, r.opts.PayloadBytes),
		Headers: []deadletter.Header{
			header("content-type", "application/json"),
			header("kafka_dlt-original-topic", r.work),
			header("kafka_dlt-original-consumer-group", of.consumer),
			header("kafka_dlt-exception-fqcn", of.kind),
			header("kafka_dlt-exception-message", errorMessage(n)),
			header("kafka_dlt-exception-stacktrace", of.stack),
		},
	}
}

func letterPayload(n, size int) []byte {
	p := fmt.Appendf(make([]byte, 0, size+64), `{"order":%d,"customer":"c-%d","amount":"%d.%02d","note":"`, n, n%977,
		n%1000, n%100)
	for len(p) < size-2 {
		p = append(p, "abcdefghijklmnopqrstuvwxyz "[len(p)%27])
	}
	return append(p, `"}`...)
}

func errorType(group int) string {
	return "com.example.orders.Error" + strings.ToUpper(string(rune('a'+group%26))) + strings.Repeat("x", group/26)
}

// errorMessage has varying parts.
func errorMessage(n int) string {
	return fmt.Sprintf("order %d of customer 'c-%d' was refused by 10.0.%d.%d:8443 after %d ms", n, n%977, n%250, n%199,
		n%5000)
}

// letterStack is an exception's stack of about 1.5 KiB.
func letterStack(kind string) string {
	var b strings.Builder
	b.WriteString(kind + ": refused\n")
	b.WriteString("\tat java.base/java.util.HashMap.computeIfAbsent(HashMap.java:1220)\n")
	for i := range 24 {
		fmt.Fprintf(&b, "\tat com.example.orders.Step%d.apply(Step%d.java:%d)\n", i, i, 40+i)
	}
	return b.String()
}

// drain consumes and counts returned messages until stop.
func (r *letterRig) drain(ctx context.Context) (received *atomic.Int64, stop func()) {
	received = &atomic.Int64{}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		in, err := r.conn.Open(ctx, r.work)
		if err != nil {
			return // the caller notices missing messages
		}
		for {
			batch, err := in.Receive(ctx, 500)
			if err != nil || in.Ack(ctx, batch) != nil {
				return
			}
			received.Add(int64(len(batch)))
		}
	}()
	return received, func() { cancel(); <-ended }
}

package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// xDeath is RabbitMQ's dead-lettering. The header x-death is a table, which the driver writes as a JSON array: one
// entry for each queue and reason, the latest first. RabbitMQ reports why a message left its queue, not the consumer's
// error; the headers of Spring AMQP, which republishes with the exception, do.
var xDeath = convention{
	name: "x-death",
	follows: func(m *message) bool {
		return m.has("x-death", "x-first-death-queue", "x-exception-message", "x-exception-stacktrace")
	},
	decode: decodeXDeath,
}

type death struct {
	Queue       json.RawMessage `json:"queue"`
	Reason      json.RawMessage `json:"reason"`
	Exchange    json.RawMessage `json:"exchange"`
	RoutingKeys json.RawMessage `json:"routing-keys"`
	Count       json.RawMessage `json:"count"`
	Time        json.RawMessage `json:"time"`
	Expiration  json.RawMessage `json:"original-expiration"`
}

func (e *death) consumed() bool {
	reason := jsonText(e.Reason)
	return reason == "rejected" || reason == "delivery_limit"
}

// decodeXDeath uses the reason, such as rejected, as the failure without an exception of Spring AMQP.
func decodeXDeath(m *message, d *Decoded) error {
	var deaths []death
	if value := m.last("x-death"); len(bytes.TrimSpace(value)) > 0 {
		if err := json.Unmarshal(value, &deaths); err != nil {
			return errors.New("its header x-death is not a JSON array of objects")
		}
	}
	reason := string(m.last("x-first-death-reason"))
	d.Origin = string(m.first("x-first-death-queue"))
	// The headers x-first-death-* name only the first queue.
	if e := decisive(deaths); e != nil {
		d.Origin, reason = jsonText(e.Queue), jsonText(e.Reason)
		d.detail("exchange", jsonText(e.Exchange))
		d.detail("routing-keys", jsonText(e.RoutingKeys))
		d.detail("original-expiration", jsonText(e.Expiration))
		d.countDeaths(deaths)
	}
	if exchange := m.last("x-original-exchange"); d.Origin == "" && exchange != nil && len(exchange) == 0 {
		d.Origin = string(m.last("x-original-routingKey")) // the default exchange routes by the name of the queue
	}
	d.Failure.Type, d.Stack = reason, string(m.last("x-exception-stacktrace"))
	d.Failure.Message = string(m.last("x-exception-message"))
	// A group needs a title.
	if d.Failure.Message == "" && reason != "" {
		d.Failure.Message = fmt.Sprintf("%s in queue %s", reason, d.Origin)
	}
	d.detail("original-exchange", string(m.last("x-original-exchange")))
	d.detail("original-routing-key", string(m.last("x-original-routingKey")))
	d.Content.Headers = without(d.Content.Headers, func(name string) bool {
		return withPrefix("x-first-death-", "x-last-death-")(name) || among("x-death", "x-delivery-count",
			"x-exception-message", "x-exception-stacktrace", "x-original-exchange", "x-original-routingKey")(name)
	})
	return nil
}

// decisive returns the entry of the death: the latest that a consumer caused, since messages expire in queues that
// delay retries; else the earliest, or nil.
func decisive(deaths []death) *death {
	for i := range deaths {
		if deaths[i].consumed() || i == len(deaths)-1 {
			return &deaths[i]
		}
	}
	return nil
}

func (d *Decoded) countDeaths(deaths []death) {
	for i := range deaths {
		e := &deaths[i]
		if e.consumed() && jsonText(e.Queue) == d.Origin {
			d.Attempts = min(d.Attempts+jsonCount(e.Count), maxCount)
		}
		at := jsonInstant(e.Time)
		if at == 0 {
			continue
		}
		d.FirstAt = min(cmp.Or(d.FirstAt, at), at)
		d.LastAt = max(d.LastAt, at)
	}
}

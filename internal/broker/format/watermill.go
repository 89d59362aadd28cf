package format

// watermill is the metadata of Watermill's middleware PoisonQueue.
var watermill = convention{
	name:    "watermill",
	follows: func(m *message) bool { return m.has("reason_poisoned", "topic_poisoned") },
	decode:  decodeWatermill,
}

// decodeWatermill keeps the UUID of Watermill in the headers, since its subscribers need it.
func decodeWatermill(m *message, d *Decoded) error {
	value := func(name string) string { return string(m.last(name)) }
	d.Origin = value("topic_poisoned")
	d.Handler = value("handler_poisoned")
	d.Failure.Message = value("reason_poisoned")
	d.detail("subscriber", value("subscriber_poisoned"))
	// The identifier of the broker is preferred.
	if d.MessageID == "" {
		d.MessageID = value("_watermill_message_uuid")
	}
	d.Content.Headers = without(d.Content.Headers,
		among("reason_poisoned", "topic_poisoned", "handler_poisoned", "subscriber_poisoned"))
	return nil
}

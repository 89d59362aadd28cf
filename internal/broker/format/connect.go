package format

// connect is the convention of Kafka Connect's dead letter queue with errors.deadletterqueue.context.headers.enable.
// All values are text.
var connect = convention{
	name:    "kafka_connect",
	follows: func(m *message) bool { return m.has("__connect.errors.topic", "__connect.errors.exception.class.name") },
	decode:  decodeConnect,
}

// Connect reports neither attempts nor a time of the failure.
func decodeConnect(m *message, d *Decoded) error {
	const p = "__connect.errors."
	value := func(name string) string { return string(m.last(p + name)) }
	d.Origin = value("topic")
	d.OriginPosition = position(value("partition"), value("offset"))
	d.Handler = value("connector.name")
	d.Failure.Type = value("exception.class.name")
	d.Failure.Message = value("exception.message")
	d.Stack = value("exception.stacktrace")
	for _, name := range []string{"task.id", "stage", "class.name"} {
		d.detail(name, value(name))
	}
	d.Content.Headers = without(d.Content.Headers, withPrefix(p))
	return nil
}

// Package telemetry turns the activity of engine and server into OpenTelemetry metrics and traces: /metrics has the
// metrics in Prometheus' format, an OTLP endpoint receives spans, and log lines carry trace IDs.
//
// It implements engine.Observer. Events of every task are added up in plain numbers once per transaction
// (tally.go), and a producer shows them to the OpenTelemetry reader: an instrument's Record per step would cost
// more than one percent of a busy server. Rare events use instruments.
//
// Every label is bounded: callers choose names of templates and handlers, so names beyond a limit become "other".
//
// Begin with telemetry.go, then tally.go (numbers per transaction) and produce.go (reading them); labels.go bounds
// the names, levels.go counts by priority. A new metric needs a line in docs/reference/metrics.md, which a test
// compares with a running server.
package telemetry

// Package telemetry turns what the engine and the server do into OpenTelemetry
// metrics and traces: metrics are read at /metrics in Prometheus' format, spans
// are sent to an OTLP endpoint if there is one, and log lines carry the ids of
// the trace they belong to.
//
// It implements engine.Observer. What happens for every task is added up in
// plain numbers once per transaction (tally.go) and shown to the OpenTelemetry
// reader as a producer: an instrument's Record per step would cost more than
// one percent of a busy server. Rare events use instruments.
//
// Every label has a bounded number of values: names come from templates and
// handlers, which callers make up, so past a limit they are all "other".
//
// Begin with telemetry.go (New, and the methods that the engine calls), then tally.go (numbers per transaction) and
// produce.go (how a reader gets them); labels.go bounds the names, levels.go holds what is counted by priority. Other
// files hold one subject each: cases.go, workers.go, requests.go, streams.go, census.go, sources.go, traces.go with
// otlp.go, and log.go. A new metric needs a line in docs/reference/metrics.md, which a test compares with a running
// server.
package telemetry

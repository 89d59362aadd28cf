package telemetry

import (
	"context"
	"runtime"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// builder creates instruments and keeps the first error for one check at the end. The instruments are usable also
// after an error.
type builder struct {
	meter  metric.Meter
	gauges []metric.Observable // not observed yet
	err    error
}

func (b *builder) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

// observe sets the callback of the gauges that were created since the last call.
func (b *builder) observe(read metric.Callback) {
	_, err := b.meter.RegisterCallback(read, b.gauges...)
	b.note(err)
	b.gauges = nil
}

// add counts. n = 0 makes the series appear, so that rates see the first increase.
func add(c metric.Int64Counter, n int64, labels ...attribute.KeyValue) {
	c.Add(context.Background(), n, metric.WithAttributes(labels...))
}

// unit is a UCUM unit or, in braces, a noun.
func (b *builder) counter(name, unit, description string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.note(err)
	return c
}

// bounds are in unit.
func (b *builder) histogram(name, unit, description string, bounds []float64) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	b.note(err)
	return h
}

func (b *builder) gauge(name, unit, description string) metric.Float64ObservableGauge {
	g, err := b.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.note(err)
	b.gauges = append(b.gauges, g)
	return g
}

// level is a number that goes up and down, 0 at first.
func (b *builder) level(name, unit, description string) metric.Int64UpDownCounter {
	c, err := b.meter.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.note(err)
	c.Add(context.Background(), 0)
	return c
}

func (b *builder) recordBuild(version string) {
	g, err := b.meter.Int64Gauge("tasker.build.info",
		metric.WithDescription("Always 1; the labels identify the binary."))
	b.note(err)
	g.Record(context.Background(), 1, metric.WithAttributes(attribute.String("version", version),
		attribute.String("go_version", runtime.Version())))
}

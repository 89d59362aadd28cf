package telemetry

import (
	"context"
	"runtime"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// builder creates instruments and keeps the first error, so that a list of instruments needs
// one check at its end.
type builder struct {
	meter metric.Meter
	err   error
}

// note keeps the first error.
func (b *builder) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

// counter creates a counter. unit is a UCUM unit or, in braces, the noun of what is counted.
func (b *builder) counter(name, unit, description string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.note(err)
	return c
}

// histogram creates a histogram with fixed buckets; bounds are in unit.
func (b *builder) histogram(name, unit, description string, bounds []float64) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	b.note(err)
	return h
}

// gauge creates a gauge that a callback observes when metrics are read.
func (b *builder) gauge(name, unit, description string) metric.Float64ObservableGauge {
	g, err := b.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.note(err)
	return g
}

// recordBuild records the version of the binary and of Go as labels.
func recordBuild(meter metric.Meter, version string) error {
	g, err := meter.Int64Gauge("tasker.build.info",
		metric.WithDescription("Always 1; the labels identify the binary."))
	if err != nil {
		return err
	}
	g.Record(context.Background(), 1, metric.WithAttributes(attribute.String("version", version),
		attribute.String("go_version", runtime.Version())))
	return nil
}

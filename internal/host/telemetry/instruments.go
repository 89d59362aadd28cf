package telemetry

import (
	"context"
	"runtime"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// builder creates instruments and keeps the first error for one check at the end.
type builder struct {
	meter metric.Meter
	err   error
}

func (b *builder) note(err error) {
	if b.err == nil {
		b.err = err
	}
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
	return g
}

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

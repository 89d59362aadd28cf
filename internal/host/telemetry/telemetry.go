package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// scope names the instrumentation.
const scope = "github.com/taskerhq/tasker"

// Options are the settings of New; the zero value is valid.
type Options struct {
	// Version of the binary; by default "devel".
	Version string
	// Logger receives cases, and failures to send spans; nil is none.
	Logger *slog.Logger
	// OTLPEndpoint receives spans over HTTP; its path defaults to /v1/traces. Without it there are no spans, but
	// workers still receive trace contexts.
	OTLPEndpoint string
	// SampleRatio is the share, 0 to 1, of changing requests without a trace that begin one. A request in a trace
	// follows its flag.
	SampleRatio float64
	// RetryPause is the first pause before spans are sent again; by default 1 s.
	RetryPause time.Duration
	// Exporter replaces OTLPEndpoint in tests.
	Exporter sdktrace.SpanExporter
	// Reader reads the metrics under OpenTelemetry's names in tests.
	Reader sdkmetric.Reader
}

// Telemetry holds the metrics and traces of one process. It is safe for concurrent use. The engine waits for its
// observer, so these methods only add numbers and buffer spans.
type Telemetry struct {
	log      *slog.Logger
	tally    *tally
	registry *prometheus.Registry
	metrics  *sdkmetric.MeterProvider

	cases    *caseMetrics
	workers  *workerMetrics
	requests *requestMetrics
	streams  *streamMetrics
	traces   *traces // nil: no spans
	census   censusCache
	sources  sourceCache
	intake   intakeMetrics

	deliveries *Deliveries
	letters    *Letters
	schedules  *Schedules
	blobs      *Blobs
}

var _ engine.Observer = (*Telemetry)(nil)

// New returns the telemetry of a process. The caller must call Close. New connects to nothing, and fails only for
// invalid options.
func New(ctx context.Context, opts Options) (*Telemetry, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Version = cmp.Or(opts.Version, "devel")
	t := &Telemetry{log: opts.Logger, tally: newTally(time.Now()), registry: prometheus.NewRegistry()}
	res, err := describe(ctx, opts.Version)
	if err != nil {
		return nil, err
	}
	if t.traces, err = newTraces(ctx, opts, res); err != nil {
		return nil, err
	}
	if err := t.startMetrics(opts, res); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

// describe identifies the process: host, SDK and version. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES can change
// and extend it.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	res, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "tasker"), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe process for telemetry: %w", err)
	}
	return res, nil
}

// startMetrics uses a separate registry: two servers in one process, as in tests, do not share metrics.
func (t *Telemetry) startMetrics(opts Options, res *resource.Resource) error {
	reader, err := exporter.New(exporter.WithRegisterer(t.registry), exporter.WithProducer(t.tally),
		// Dots become underscores, counters end in _total, times in their unit.
		exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return fmt.Errorf("start Prometheus exporter: %w", err)
	}
	options := []sdkmetric.Option{sdkmetric.WithReader(reader), sdkmetric.WithResource(res),
		sdkmetric.WithCardinalityLimit(maxSeries)}
	if opts.Reader != nil {
		options = append(options, sdkmetric.WithReader(opts.Reader))
	}
	t.metrics = sdkmetric.NewMeterProvider(options...)
	b := &builder{meter: t.metrics.Meter(scope, metric.WithInstrumentationVersion(opts.Version))}
	t.cases, t.workers = newCaseMetrics(b, t.registry), newWorkerMetrics(b)
	t.requests, t.streams = newRequestMetrics(b), newStreamMetrics(b)
	t.census.register(b)
	t.sources.register(b)
	t.intake.register(b)
	t.deliveries, t.letters = newDeliveries(b), newLetters(b)
	t.schedules, t.blobs = newSchedules(b), newBlobs(b)
	b.recordBuild(opts.Version)
	b.note(t.registry.Register(collectors.NewGoCollector()))
	b.note(t.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	if b.err != nil {
		return fmt.Errorf("create metrics: %w", b.err)
	}
	return nil
}

// maxSeries bounds the series of an SDK instrument; further label sets share an overflow series.
const maxSeries = 2000

// Handler returns the handler of GET /metrics in Prometheus' text format. It serves 4 requests at a time, each for
// at most 10 s, so that scrapes cannot overload a struggling store. It shows the other metrics if a part fails.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog:            promLog{t.log},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	})
}

type promLog struct{ log *slog.Logger }

func (l promLog) Println(v ...any) {
	l.log.Error("metrics could not be gathered", slog.String("error", fmt.Sprint(v...)))
}

// Flush sends the buffered spans until ctx ends.
func (t *Telemetry) Flush(ctx context.Context) error {
	if t.traces == nil {
		return nil
	}
	return t.traces.provider.ForceFlush(ctx)
}

// Close sends the remaining spans until ctx ends, and stops the metrics. Stop the engine first.
func (t *Telemetry) Close(ctx context.Context) error {
	var errs []error
	if t.traces != nil {
		errs = append(errs, t.traces.close(ctx))
	}
	if t.metrics != nil {
		errs = append(errs, t.metrics.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop telemetry: %w", err)
	}
	return nil
}

// Committed implements engine.Observer. It may be called concurrently.
func (t *Telemetry) Committed(c *engine.Commit) {
	t.tally.add(c)
	t.cases.add(c)
	t.logCases(c)
	t.logTransitions(c)
	t.addBreakers(c)
	if t.traces != nil {
		t.traces.add(c)
	}
}

// Failed implements engine.Observer.
func (t *Telemetry) Failed(verb string, _ time.Duration, err error) {
	t.tally.fail(verb, task.CodeOf(err))
}

// Detected implements engine.Observer.
func (t *Telemetry) Detected(d engine.Detection) { t.cases.detected(d) }

// Analyzed implements engine.Observer.
func (t *Telemetry) Analyzed(a *engine.Analysis) { t.cases.analyzed(a) }

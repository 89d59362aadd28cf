package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/dashboard"
	"github.com/taskerhq/tasker/internal/dashboard/now"
	"github.com/taskerhq/tasker/internal/dashboard/session"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/telemetry"
)

// upkeepTimeout bounds the end of the background loops.
const upkeepTimeout = 10 * time.Second

// telemetryTimeout bounds the sending of the last spans.
const telemetryTimeout = 5 * time.Second

// Options are the optional arguments of Run.
type Options struct {
	// Log defaults to none.
	Log io.Writer
	// Version is reported by the server.
	Version string
	// Drivers connect to additional brokers of dead letters.
	Drivers driver.Registry
	// Reload rereads the configuration; by default never.
	Reload Reload
	// Ready is called once when the server accepts requests. An error ends Run.
	Ready func(Node) error
}

// Node is a running server.
type Node struct {
	URL string
	DSN string // with its scheme, without a password
	// Client reaches the engine without HTTP.
	Client *tasker.Client
}

// Run opens the store, starts the background loops and serves the API until ctx ends.
//
// The order of stopping charges no attempt: it accepts no more connections, long polls return their results, open
// requests get their responses, the loops end, and the store closes last. Workers keep their leases and continue
// with the next server.
func Run(ctx context.Context, cfg *config.Config, opts Options) (err error) {
	if err := cfg.CheckOpen(); err != nil {
		return err
	}
	dsn, err := config.ParseDSN(cfg.DB.DSN)
	if err != nil {
		return tasker.Errorf(tasker.CodeInvalid, "db.dsn: %v", err)
	}
	held := ballast()
	defer runtime.KeepAlive(held)
	log, level := newLogger(cfg.Log, opts.Log)
	keys, err := keyring(cfg)
	if err != nil {
		return err
	}
	current := &live{keys: keys, level: level, log: log}
	current.cfg.Store(cfg)
	// A used port must fail before the store is touched.
	ln, err := listen(ctx, cfg.Server.Listen)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := ln.Close(); cerr != nil && !errors.Is(cerr, net.ErrClosed) {
			err = errors.Join(err, fmt.Errorf("close listener: %w", cerr))
		}
	}()
	tel, err := telemetry.New(ctx, telemetry.Options{Version: opts.Version, Logger: log,
		OTLPEndpoint: cfg.Telemetry.OTLPEndpoint, SampleRatio: cfg.Telemetry.SampleRatio})
	if err != nil {
		return err
	}
	defer func() {
		// Lost spans are no reason to fail.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryTimeout)
		defer cancel()
		if cerr := tel.Close(ending); cerr != nil {
			log.Warn("telemetry did not end in order", slog.Any("error", cerr))
		}
	}()
	store, err := open(ctx, dsn, cfg, opts.Drivers, log, tel)
	if err != nil {
		return fmt.Errorf("open %s: %w", dsn, err)
	}
	defer func() {
		if cerr := store.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close store: %w", cerr))
		}
	}()
	history := now.NewHistory(func(ctx context.Context) (*queueapi.QueueStats, error) {
		return store.QueueStats(ctx, queueapi.QueueFilter{})
	})
	handler, err := newHandler(current, store, history, tel, opts.Version)
	if err != nil {
		return err
	}
	reloading, stopReloading := context.WithCancel(ctx)
	var reloads sync.WaitGroup
	reloads.Go(func() { current.run(reloading, opts.Reload) })
	defer reloads.Wait()
	defer stopReloading()
	if cfg.Open() {
		log.Warn("the API is open to the network: there are no API keys, so everybody who reaches this address can read and "+
			"change all tasks",
			"listen", ln.Addr().String())
	}
	return serve(ctx, cfg, beside{store, history}, ln, handler, func() error {
		if opts.Ready == nil {
			return nil
		}
		return opts.Ready(Node{
			URL:    "http://" + reachable(ln.Addr()),
			DSN:    dsn.String(),
			Client: tasker.NewClient(store),
		})
	})
}

// looper runs background loops until ctx ends.
type looper interface {
	Run(ctx context.Context) error
}

// beside runs second until first ends.
type beside struct{ first, second looper }

func (b beside) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var both sync.WaitGroup
	both.Go(func() { _ = b.second.Run(ctx) }) // it ends with ctx
	err := b.first.Run(ctx)
	stop()
	both.Wait()
	return err
}

// serve runs the API and the loops. When one ends, serve ends the other; the loops outlive the API, because open
// requests may need them.
func serve(ctx context.Context, cfg *config.Config, store looper, ln net.Listener, h http.Handler, ready func() error,
) error {
	serving, stopServing := context.WithCancel(ctx)
	defer stopServing()
	looping, stopLoops := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLoops()

	loops := make(chan error, 1)
	go func() {
		defer stopServing()
		loops <- ignoreCanceled(store.Run(looping))
	}()
	api := make(chan error, 1)
	limited := web.LimitConnections(ln, cfg.Server.MaxConnections)
	go func() { api <- web.Serve(serving, limited, h, cfg.Server.DrainTimeout) }()

	// The listener queues connections, so requests before Serve accepts are answered, too.
	readyErr := ready()
	if readyErr != nil {
		stopServing()
	}
	apiErr := <-api
	stopLoops()
	select {
	case err := <-loops:
		if err != nil {
			err = fmt.Errorf("run background loops: %w", err)
		}
		return errors.Join(readyErr, apiErr, err)
	case <-time.After(upkeepTimeout):
		return errors.Join(readyErr, apiErr, fmt.Errorf("stop background loops: still running after %s", upkeepTimeout))
	}
}

// ignoreCanceled drops the error of a requested end.
func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// newHandler puts API, dashboard and metrics behind one front, which checks keys and bounds bodies.
func newHandler(current *live, store backend, history *now.History, tel *telemetry.Telemetry, version string,
) (http.Handler, error) {
	cfg, keys := current.cfg.Load(), current.keys
	letterBytes := int64(cfg.Engine.Limits.LetterBytes)
	front := web.New(web.Options{
		Logger: current.log, Keys: keys, KeyUse: store, Watcher: tel,
		BodiesBytes: max(int64(max(cfg.Server.BodiesBytes, cfg.Server.BatchBodyBytes, cfg.Server.BodyBytes)),
			httpapi.LetterBody(letterBytes)), // at least one body
	})
	api := httpapi.New(store, httpapi.Options{
		Front:        front,
		DeadLetters:  store.DeadLetters(),
		Schedules:    store.Schedules(),
		Jobs:         store.Jobs(),
		Messages:     store.Messages(),
		Sensitive:    store,
		DLQ:          httpapi.DLQOptions{MaxRequeue: cfg.DLQ.MaxRequeueIterations, KeyInQuery: cfg.DLQ.APIKeyParameter},
		LoopbackOnly: len(cfg.Keys) == 0 && !cfg.Server.AllowOpen,
		Ready:        (&readiness{ask: store.Ready}).within,
		Version:      version,
		Metrics:      tel.Handler(),
		Streams:      tel,
		Limits: httpapi.Limits{
			BodyBytes:      int64(cfg.Server.BodyBytes),
			BatchBodyBytes: int64(cfg.Server.BatchBodyBytes),
			LetterBytes:    letterBytes,
			Streams:        cfg.Server.MaxStreams,
			StreamsPerKey:  cfg.Server.MaxStreamsPerKey,
		},
	})
	direct, err := api.Direct()
	if err != nil {
		return nil, err
	}
	return dashboard.New(dashboard.Options{
		Front: front, API: direct, Events: store.StreamEvents, History: history,
		About: about(current.cfg.Load, store, version),
		Open:  len(cfg.Keys) == 0, LoopbackOnly: len(cfg.Keys) == 0 && !cfg.Server.AllowOpen,
		MaxStreams: cfg.Server.MaxStreams, Sessions: session.New(session.Options{Keys: keys, Store: store}),
	}, api), nil
}

package rabbitmq

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	connection "github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/broker/dispatch"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Options configures a Dispatcher.
type Options struct {
	// Dial opens a named connection, and returns when ctx ends.
	Dial     func(ctx context.Context, name string) (*connection.Conn, error)
	Queue    func(worker task.ID) string
	Topology Topology
	// Prefetch bounds the dispatched steps of a worker without a capacity. Defaults to 100.
	Prefetch int
	// Health are thresholds for the choice of workers. Zero fields have defaults.
	Health task.HealthRule
	// InFlight bounds the unconfirmed messages. Defaults to 1000.
	InFlight int
	// ConfirmTimeout is after which wait for a confirm the connection counts as lost. Defaults to 10 s.
	ConfirmTimeout time.Duration
	// MaxPause bounds the pauses between tries to connect. Defaults to 30 s.
	MaxPause time.Duration
	// Refresh is the interval at which the list of workers is read. Defaults to 1 s.
	Refresh  time.Duration
	Now      func() time.Time
	Logger   *slog.Logger
	Observer dispatch.Observer
}

// Topology has what RabbitMQ must be asked for a topology.
type Topology dispatch.Topology

func (o Options) withDefaults() Options {
	o.Prefetch = cmp.Or(o.Prefetch, 100)
	o.InFlight = cmp.Or(o.InFlight, 1000)
	o.ConfirmTimeout = cmp.Or(o.ConfirmTimeout, 10*time.Second)
	o.MaxPause = cmp.Or(o.MaxPause, 30*time.Second)
	o.Refresh = cmp.Or(o.Refresh, time.Second)
	o.Health = o.Health.WithDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = silent{}
	}
	return o
}

type silent struct{}

func (silent) Published(string, int)  {}
func (silent) Expired(string, int)    {}
func (silent) Handled(time.Duration)  {}
func (silent) Depth(int)              {}
func (silent) Connected(string, bool) {}

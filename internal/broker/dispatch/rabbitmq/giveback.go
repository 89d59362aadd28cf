package rabbitmq

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

const giveBackTimeout = 10 * time.Second

// givenBack collects steps that were certainly not published, and returns them to their queues in batches. If that
// fails, their leases run out.
type givenBack struct {
	d     *Dispatcher
	ended chan struct{}

	mu     sync.Mutex
	leases map[task.ID][]protocol.LeaseRef // by worker
	signal chan struct{}                   // has a token if there are leases
	closed chan struct{}
}

func newGivenBack(d *Dispatcher) *givenBack {
	b := &givenBack{d: d, ended: make(chan struct{}), leases: map[task.ID][]protocol.LeaseRef{},
		signal: make(chan struct{}, 1), closed: make(chan struct{})}
	go b.run()
	return b
}

// add adds a lease. It does not block.
func (b *givenBack) add(worker task.ID, lease protocol.LeaseRef) {
	b.mu.Lock()
	b.leases[worker] = append(b.leases[worker], lease)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

func (b *givenBack) run() {
	defer close(b.ended)
	for {
		select {
		case <-b.signal:
			b.flush()
		case <-b.closed:
			b.flush()
			return
		}
	}
}

func (b *givenBack) flush() {
	b.mu.Lock()
	leases := b.leases
	b.leases = map[task.ID][]protocol.LeaseRef{}
	b.mu.Unlock()
	for worker, list := range leases {
		ctx, cancel := context.WithTimeout(context.Background(), giveBackTimeout)
		err := b.d.engine.GiveBack(ctx, worker, list)
		cancel()
		if err != nil {
			b.d.opts.Logger.Warn("steps that were not published are not given back; their leases run out",
				slog.Int("steps", len(list)), slog.String("worker_id", worker.String()), slog.Any("error", err))
		}
	}
}

func (b *givenBack) close(ctx context.Context) {
	close(b.closed)
	select {
	case <-b.ended:
	case <-ctx.Done():
	}
}

package stall_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Variables that make this program a worker.
const (
	serverVariable = "TASKER_STALL_SERVER"
	nameVariable   = "TASKER_STALL_WORKER"
)

// slots is a worker's concurrency.
const slots = 4

// Commands on a worker's standard input, one per line.
const (
	hold = "hold" // begun steps do not end
	free = "free"
)

// note is a worker's report on its standard output, a line of JSON each.
type note struct {
	Kind  string    `json:"kind"`
	Step  uuid.UUID `json:"step,omitzero"`
	Token string    `json:"token,omitempty"`
	// Code is the reason of a refusal, "" if accepted.
	Code tasker.Code `json:"code,omitempty"`
}

// The kinds of notes.
const (
	noteHolds    = "holds" // steps begun from now on do not end
	noteBegun    = "begun"
	noteAnswered = "answered" // the server has answered a result
)

func TestMain(m *testing.M) {
	if url := os.Getenv(serverVariable); url != "" {
		if err := work(url, os.Getenv(nameVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// work is a worker of the SDK that ends with its standard input.
func work(url, name string) error {
	client, err := remote.Dial(url, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	t := &teller{out: json.NewEncoder(os.Stdout)}
	w := worker.New(tasker.NewClient(&telling{protocol.Of(client), t}),
		&worker.Options{Name: name, Concurrency: slots, PollWait: time.Second, DrainTimeout: time.Second})
	g := &gate{open: make(chan struct{})}
	close(g.open)
	w.Handle("job", func(ctx context.Context, job *worker.Job) (any, error) {
		opened := g.wait()
		t.tell(note{Kind: noteBegun, Step: job.StepUUID, Token: job.Token})
		select {
		case <-opened:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return result{name, job.Token}, nil
	})
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			g.set(lines.Text() == free)
			if lines.Text() == hold {
				t.tell(note{Kind: noteHolds})
			}
		}
	}()
	return w.Run(ctx)
}

// result names the worker and the token of a step's run.
type result struct {
	Worker string `json:"worker"`
	Token  string `json:"token"`
}

// gate lets handlers end, or not.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed: they may
}

func (g *gate) wait() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		if !open {
			g.open = make(chan struct{})
		}
	default:
		if open {
			close(g.open)
		}
	}
}

type teller struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (t *teller) tell(n note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.out.Encode(n) // the reader is gone, and this process ends soon
}

// telling reports the answers to results.
type telling struct {
	protocol.Backend
	t *teller
}

func (b *telling) Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	answers, err := b.Backend.Settle(ctx, req)
	for i, a := range answers {
		n := note{Kind: noteAnswered, Step: req.Results[i].StepUUID, Token: req.Results[i].Token}
		if a.Error != nil {
			n.Code = a.Error.Code
		}
		b.t.tell(n)
	}
	return answers, err
}

type notes struct {
	mu      sync.Mutex
	list    []note
	changed chan struct{} // closed with the next note
	ended   error
}

func (n *notes) listen(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var x note
		if err := json.NewDecoder(strings.NewReader(lines.Text())).Decode(&x); err != nil {
			n.add(note{}, fmt.Errorf("a worker said %q: %w", lines.Text(), err))
			return
		}
		n.add(x, nil)
	}
	n.add(note{}, errors.New("a worker has ended"))
}

func (n *notes) add(x note, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended = err; err == nil {
		n.list = append(n.list, x)
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *notes) await(ctx context.Context, from int, wanted func(note) bool) (note, error) {
	for {
		n.mu.Lock()
		list, changed, ended := n.list[from:], n.changed, n.ended
		n.mu.Unlock()
		for _, x := range list {
			if wanted(x) {
				return x, nil
			}
		}
		if ended != nil {
			return note{}, ended
		}
		from += len(list)
		select {
		case <-changed:
		case <-ctx.Done():
			return note{}, ctx.Err()
		}
	}
}

func (n *notes) all() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list[:len(n.list):len(n.list)]
}

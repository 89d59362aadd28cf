package letters

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/crashtest/account"
)

// The sources. The letters of the last one always stay.
const (
	byHand, automatic, untouched = "by-hand", "automatic", "untouched"
	deadUntouched                = "dlq3"
	untouchedLetters             = 3
)

func (r *run) configure(ctx context.Context) error {
	for name, queue := range map[string]string{byHand: dead, automatic: deadOfPolicy, untouched: deadUntouched} {
		source := deadletters.SourceRequest{Source: deadletters.Source{Name: name, Driver: r.kind.driver, Queue: queue,
			URL: r.brokers.through(r.kind.parameters(r.flush)), Format: cmp.Or(r.kind.format, "job_failure"),
			Targets:    []string{orders},
			MaxReplays: 1000}}
		if _, err := account.Ask(ctx, &r.nodes.Nodes, func(b deadletters.Backend) (*deadletters.Source, error) {
			return b.SaveSource(ctx, source)
		}); err != nil {
			return fmt.Errorf("add the source %s: %w", name, err)
		}
	}
	policy := deadletters.PolicyRequest{Policy: deadletters.Policy{Source: automatic,
		Strategy: deadletters.Immediate, MaxRetries: 1000, KeepExhausted: true}}
	_, err := account.Ask(ctx, &r.nodes.Nodes, func(b deadletters.Backend) (*deadletters.Policy, error) {
		return b.SavePolicy(ctx, policy)
	})
	return err
}

// operate is an operator who redrives everything open, sometimes by /api/dlq, and pauses or cancels some redrives.
func (r *run) operate(ctx context.Context, quiet <-chan struct{}, rng *rand.Rand) error {
	for {
		select {
		case <-quiet:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(100+rng.IntN(400)) * time.Millisecond):
		}
		if rng.IntN(3) == 0 {
			if err := r.requeueAll(ctx, rng); err != nil {
				return err
			}
			continue
		}
		made, err := account.Ask(ctx, &r.nodes.Nodes, func(b deadletters.Backend) (*deadletters.Redrive, error) {
			return b.CreateRedrive(ctx, account.RedriveAll(byHand, orders, 5+rng.IntN(20)))
		})
		switch {
		case ctx.Err() != nil || account.Refused(err):
		case err != nil:
			return fmt.Errorf("create a redrive: %w", err)
		case rng.IntN(3) == 0:
			what := []deadletters.RedriveAction{deadletters.PauseRedrive, deadletters.CancelRedrive}[rng.IntN(2)]
			// It may have ended.
			_, _ = account.Ask(ctx, &r.nodes.Nodes, func(b deadletters.Backend) (*deadletters.Redrive, error) {
				return b.ActOnRedrive(ctx, made.RedriveUUID, deadletters.RedriveAct{Action: what})
			})
		}
	}
}

// requeueAll sends open letters back by /api/dlq. No answer, 503 and 409 are right while something is down.
func (r *run) requeueAll(ctx context.Context, rng *rand.Rand) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	s := r.nodes.Servers[rng.IntN(len(r.nodes.Servers))]
	answer, err := call(ctx, http.MethodPost, s.URL()+"/api/dlq/requeue-all/"+dead+"?include_parked=true")
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body) // the node may be killed now
	switch answer.StatusCode {
	case http.StatusOK, http.StatusConflict, http.StatusServiceUnavailable, http.StatusNotFound:
		return nil
	}
	return fmt.Errorf("/api/dlq/requeue-all is answered %s", answer.Status)
}

// watch reads the sizes of queues continuously. The untouched letters must be in every answer: an outage is not an
// empty queue.
func (r *run) watch(ctx context.Context, rng *rand.Rand) {
	for clock.Sleep(ctx, time.Duration(50+rng.IntN(100))*time.Millisecond) == nil {
		s := r.nodes.Servers[rng.IntN(len(r.nodes.Servers))]
		err := r.lookAt(ctx, s.URL())
		if err != nil && ctx.Err() == nil {
			r.Wrong("empty", "%v", err)
		}
	}
}

func (r *run) lookAt(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	answer, err := call(ctx, http.MethodGet, node+"/api/dlq/stats")
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("/api/dlq/stats is not answered in 15 s")
		}
		return nil // the node is down
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusServiceUnavailable {
		r.count("stats refused")
		return nil
	}
	var stats struct {
		Queues []struct {
			Name  string `json:"queue_name"`
			Count int64  `json:"count"`
		} `json:"queues"`
	}
	if json.NewDecoder(answer.Body).Decode(&stats) != nil {
		return nil // it was killed half-way
	}
	r.count("stats answered")
	for _, q := range stats.Queues {
		if q.Name == deadUntouched && (q.Count == untouchedLetters || q.Count > untouchedLetters && r.kind.blind) {
			return nil // messages captured when the broker was killed wait there again, until a node has looked
		}
	}
	return fmt.Errorf("/api/dlq/stats says %s: %+v", answer.Status, stats)
}

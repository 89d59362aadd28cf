package executionapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Expired counts the executions of an hour, a worker and an action that expired in the queue of the worker.
type Expired struct {
	Hour      time.Time
	Worker    string // its name
	WorkerID  uuid.UUID
	Namespace string
	ActionRef string
	Count     int
	Last      time.Time
}

// ExpiredReport counts the executions that expired in the queues of their workers.
type ExpiredReport struct {
	Since    time.Time       `json:"since"`
	Total    int             `json:"total"`
	Workers  []ExpiredCount  `json:"workers" doc:"By worker, the most first."`
	Actions  []ExpiredCount  `json:"actions" doc:"By action, the most first."`
	Hours    []ExpiredInHour `json:"hours" doc:"By hour, the latest first; hours without any are left out."`
	IsCapped bool            `json:"capped" doc:"Whether older ones are left out, because there are more than 10,000 combinations of hour, worker and action."`
}

// ExpiredCount counts the expired executions of a worker or an action.
type ExpiredCount struct {
	WorkerID  *uuid.UUID `json:"worker_id,omitempty"`
	Worker    string     `json:"worker,omitempty"`
	Namespace string     `json:"namespace,omitempty"`
	ActionRef string     `json:"action_ref,omitempty"`
	Count     int        `json:"count"`
	Last      time.Time  `json:"last_expired_at"`
}

// ExpiredInHour counts those of an hour.
type ExpiredInHour struct {
	Hour  time.Time `json:"hour" doc:"Its beginning, in UTC."`
	Count int       `json:"count"`
}

// MaxExpired bounds the entries that a Backend returns.
const MaxExpired = 10_000

// ExpiredReport counts the executions of namespaces (none: all) that have expired since a time.
func (p *Projection) ExpiredReport(ctx context.Context, namespaces []string, since time.Time) (*ExpiredReport, error) {
	list, err := p.backend.ExpiredExecutions(ctx, since)
	if err != nil {
		return nil, err
	}
	out := &ExpiredReport{Since: since.UTC(), IsCapped: len(list) >= MaxExpired, Hours: []ExpiredInHour{}}
	type action struct{ namespace, name string }
	workers, actions := map[uuid.UUID]*ExpiredCount{}, map[action]*ExpiredCount{}
	for _, e := range list {
		if len(namespaces) > 0 && !slices.Contains(namespaces, e.Namespace) {
			continue
		}
		out.Total += e.Count
		if workers[e.WorkerID] == nil {
			workers[e.WorkerID] = &ExpiredCount{WorkerID: &e.WorkerID, Worker: e.Worker}
		}
		workers[e.WorkerID].add(e)
		of := action{e.Namespace, e.ActionRef}
		if actions[of] == nil {
			actions[of] = &ExpiredCount{Namespace: e.Namespace, ActionRef: e.ActionRef}
		}
		actions[of].add(e)
		if n := len(out.Hours); n == 0 || !out.Hours[n-1].Hour.Equal(e.Hour) {
			out.Hours = append(out.Hours, ExpiredInHour{Hour: e.Hour})
		}
		out.Hours[len(out.Hours)-1].Count += e.Count
	}
	out.Workers, out.Actions = ranked(workers), ranked(actions)
	return out, nil
}

func (c *ExpiredCount) add(e Expired) {
	c.Count += e.Count
	if e.Last.After(c.Last) {
		c.Last = e.Last
	}
}

func ranked[K comparable](of map[K]*ExpiredCount) []ExpiredCount {
	list := make([]ExpiredCount, 0, len(of))
	for _, c := range of {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b ExpiredCount) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.ActionRef, b.ActionRef))
	})
	return list
}

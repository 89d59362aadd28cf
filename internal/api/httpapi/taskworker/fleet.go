package taskworker

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/httpapi/stepworker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// FleetWorker is a worker as operators see it, in the words of systems that queue per worker.
type FleetWorker struct {
	ID           uuid.UUID `json:"id"`
	Name         string    `json:"name"`
	Role         string    `json:"role" doc:"Always action: a worker that runs tasks."`
	Status       string    `json:"status" enum:"active,busy,inactive,error" doc:"busy: it runs something. inactive: it drains, has signed off, or was lost. error: its health probes fail, or its circuit breaker is open."`
	Health       string    `json:"health" doc:"healthy, degraded or unhealthy, as the answering node sees it."`
	Reasons      []string  `json:"health_reasons,omitempty" doc:"Why it is not healthy."`
	Capabilities []string  `json:"capabilities,omitempty"`
	TaskTypes    []string  `json:"task_types,omitempty" doc:"Task types that it runs; all if absent."`
	Namespaces   []string  `json:"namespaces,omitempty" doc:"Namespaces that it serves; *: all."`
	Transport    string    `json:"transport" doc:"http: it polls. amqp: it gets its tasks from a queue of its own."`
	Capacity     int       `json:"capacity" doc:"Most tasks at a time; 0: no limit."`
	CurrentLoad  int       `json:"current_load" doc:"Tasks at its last heartbeat."`
	Host         string    `json:"host,omitempty"`
	Version      string    `json:"version,omitempty"`

	LastHeartbeat time.Time  `json:"last_heartbeat"`
	Cordoned      bool       `json:"cordoned" doc:"An operator has stopped handing tasks to it."`
	CordonedAt    *time.Time `json:"cordoned_at,omitempty"`
	CordonedBy    string     `json:"cordoned_by,omitempty"`
	CordonReason  string     `json:"cordon_reason,omitempty"`
	DrainsItself  bool       `json:"drains_itself,omitempty" doc:"It drains because its heartbeat said so; the first one that does not ends that."`
	DrainedAt     *time.Time `json:"drained_at,omitempty"`
	DrainedBy     string     `json:"drained_by,omitempty" doc:"Operator who has drained it; it gets no more tasks until it is resumed."`
	DrainReason   string     `json:"drain_reason,omitempty"`
}

// Fleet is a page of workers.
type Fleet struct {
	Workers    []FleetWorker `json:"workers"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"cursor of the next page. Even a short or empty page may have one."`
}

// FleetFilter selects workers. Empty fields do not restrict.
type FleetFilter struct {
	Role     string `query:"role" enum:"action,sensor" doc:"No worker is a sensor."`
	Status   string `query:"status" enum:"active,busy,inactive,error"`
	Cordoned string `query:"cordoned" enum:"true,false"`
	Health   string `query:"health" enum:"healthy,degraded,unhealthy"`
	stepworker.WorkerFilter
}

// Fleet returns a page of workers. It filters a page of all workers, so a page may be short.
func (v *Verbs) Fleet(ctx context.Context, params *FleetFilter, _ *endpoint.None) (Fleet, error) {
	page, err := v.steps.List(ctx, &params.WorkerFilter, nil)
	if err != nil {
		return Fleet{}, err
	}
	out := Fleet{Workers: []FleetWorker{}, NextCursor: page.NextCursor}
	for i := range page.Workers {
		if w := fleetWorker(&page.Workers[i]); params.selects(&w) {
			out.Workers = append(out.Workers, w)
		}
	}
	return out, nil
}

func (p *FleetFilter) selects(w *FleetWorker) bool {
	same := func(wanted, is string) bool { return wanted == "" || wanted == is }
	cordoned := "false"
	if w.Cordoned {
		cordoned = "true"
	}
	return same(p.Role, w.Role) && same(p.Status, w.Status) && same(p.Cordoned, cordoned) && same(p.Health, w.Health)
}

// Member returns one worker.
func (v *Verbs) Member(ctx context.Context, params *stepworker.Path, _ *endpoint.None) (FleetWorker, error) {
	return fleetAnswer(v.steps.Get(ctx, params, nil))
}

// Cordon stops handing tasks to a worker until it is uncordoned.
func (v *Verbs) Cordon(ctx context.Context, params *stepworker.Path, body *stepworker.CordonRequest,
) (FleetWorker, error) {
	return fleetAnswer(v.steps.Cordon(ctx, params, body))
}

// Uncordon ends the cordon of a worker.
func (v *Verbs) Uncordon(ctx context.Context, params *stepworker.Path, body *stepworker.UncordonRequest,
) (FleetWorker, error) {
	return fleetAnswer(v.steps.Uncordon(ctx, params, body))
}

// fleetAnswer converts the answer of the protocol's own verb.
func fleetAnswer(of *protocol.WorkerInfo, err error) (FleetWorker, error) {
	if err != nil {
		return FleetWorker{}, err
	}
	return fleetWorker(of), nil
}

// fleetWorker converts a worker.
func fleetWorker(w *protocol.WorkerInfo) FleetWorker {
	status := "active"
	switch {
	case w.State == protocol.WorkerDead || w.State == protocol.WorkerDraining:
		status = "inactive"
	case w.State == protocol.WorkerUnhealthy || w.Breaker == protocol.BreakerOpen:
		status = "error"
	case w.ReportedLoad > 0:
		status = "busy"
	}
	return FleetWorker{ID: w.WorkerID, Name: w.Name, Role: "action", Status: status, Health: w.Health,
		Reasons: w.HealthReasons, Capabilities: w.Capabilities, TaskTypes: w.Handlers,
		Namespaces: w.Namespaces, Transport: w.Transport, Capacity: w.Capacity, CurrentLoad: w.ReportedLoad, Host: w.Host,
		Version: w.Version, LastHeartbeat: w.LastHeartbeat, Cordoned: w.Cordoned, CordonedAt: w.CordonedAt,
		CordonedBy: w.CordonedBy, CordonReason: w.CordonReason, DrainsItself: w.DrainsItself,
		DrainedAt: w.DrainedAt, DrainedBy: w.DrainedBy, DrainReason: w.DrainReason}
}

package httpapi

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

const changesDoc = "Server-sent events. The data of each is an ExecutionChange; its id and event repeat those of the " +
	"change. Comments keep the connection alive."

type executionStreamQuery struct {
	ID          []string `query:"id,explode" doc:"Executions; repeatable up to 100 times. The stream only covers these and begins with their current status."`
	Until       string   `query:"until" enum:"settled" doc:"settled: the stream ends when all executions of id have ended."`
	Namespace   []string `query:"namespace,explode" doc:"Repeatable."`
	ActionRef   string   `query:"action_ref" maxLength:"255" doc:"Name of the action."`
	LastEventID string   `header:"Last-Event-ID" doc:"ID of the event to resume after. If that is no longer possible, the stream begins with stream.gap."`
}

func (q *executionStreamQuery) filter() (tasker.EventFilter, error) {
	f := tasker.EventFilter{Types: []tasker.EventType{tasker.EventTaskSubmitted, tasker.EventTaskState},
		UntilSettled: q.Until == "settled", Namespaces: endpoint.SplitAll(q.Namespace), Name: q.ActionRef,
		LastEventID: q.LastEventID}
	if len(f.Namespaces) > endpoint.MaxRepeats {
		return f, endpoint.TooManyRepeats()
	}
	for _, word := range endpoint.SplitAll(q.ID) {
		id, err := uuid.Parse(word)
		if err != nil || len(word) != 36 {
			return f, endpoint.BadParameter("query.id", "must be a UUID such as 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70")
		}
		f.Tasks = append(f.Tasks, id)
	}
	return f, nil
}

func (s *server) serveExecutions(ctx context.Context, hc huma.Context, params *executionStreamQuery) {
	s.stream(ctx, hc, params.filter, func(e *tasker.Event) any {
		if c := executionapi.ChangeOf(e); c != nil {
			return c
		}
		return nil
	})
}

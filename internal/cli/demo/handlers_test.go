package demo

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// onestep is a Backend with one step, whose result it keeps.
type onestep struct {
	protocol.Backend
	step   chan protocol.Assignment
	result chan protocol.StepResult
}

func (b *onestep) RegisterWorker(context.Context, protocol.WorkerRegistration) (*protocol.RegisteredWorker, error) {
	return &protocol.RegisteredWorker{WorkerID: uuid.New(), LeaseSeconds: 60, HeartbeatIntervalMS: 30_000}, nil
}

func (b *onestep) Poll(ctx context.Context, _ protocol.PollRequest) (*protocol.PollResponse, error) {
	select {
	case s := <-b.step:
		return &protocol.PollResponse{Steps: []protocol.Assignment{s}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *onestep) Settle(_ context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	b.result <- req.Results[0]
	return []protocol.SettleAnswer{{StepUUID: req.Results[0].StepUUID}}, nil
}

func (b *onestep) Heartbeat(context.Context, protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
	return &protocol.HeartbeatResponse{Acknowledged: true}, nil
}

func (b *onestep) Drain(context.Context, protocol.WorkerAct) (*protocol.DrainResponse, error) {
	return &protocol.DrainResponse{}, nil
}

// handle has the demo's worker carry out one step of row and returns what it
// reports.
func handle(t *testing.T, step string, row Row, parents map[string]string) protocol.StepResult {
	t.Helper()
	body, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	a := protocol.Assignment{
		StepUUID: id(1), TaskUUID: id(2), Token: "1", State: tasker.StepInProgress, Namespace: namespace,
		StepName: step, Handler: step, Attempt: 1, MaxAttempts: 3, Parameters: body, TimeoutSeconds: 30,
		ParentResults: map[string]json.RawMessage{},
	}
	for name, result := range parents {
		a.ParentResults[name] = json.RawMessage(result)
	}
	back := &onestep{step: make(chan protocol.Assignment, 1), result: make(chan protocol.StepResult, 1)}
	back.step <- a

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Work(ctx, tasker.NewClient(back), Options{Logger: slog.New(slog.DiscardHandler)})
	}()
	result := <-back.result
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	return result
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	rows := rowsOf(t)
	parsed := func(row Row) map[string]string {
		s, err := parseRecord(row)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{stepParse: string(body)}
	}
	const (
		flight = `{"phase":"Climb","speed_kt":300}`
		names  = `{"airport":"Here","state":"LA","aircraft":"T-38A","operator":"Military"}`
		price  = `{"damage":"none","cost_usd":0,"cost_known":true}`
	)
	tests := []struct {
		name    string
		step    string
		parents map[string]string
		want    string
	}{
		{"Flight", stepFlight, parsed(rows[0]), flight},
		{"ParseResolvedWithoutResult", stepPrice, nil, price},
		{
			"Severity", stepSeverity, map[string]string{stepFlight: flight, stepNames: names, stepPrice: price},
			`{"severity":"moderate","energy_kj":47.6,"flight":` + flight + `,"names":` + names + `,"price":` + price + `}`,
		},
		{
			"PriceResolvedWithoutResult", stepSeverity, map[string]string{stepFlight: flight, stepNames: names},
			`{"severity":"moderate","energy_kj":47.6,"flight":` + flight + `,"names":` + names + `}`,
		},
		{
			"PriceCompletedWithNull", stepSeverity, map[string]string{stepFlight: flight, stepNames: names, stepPrice: "null"},
			`{"severity":"moderate","energy_kj":47.6,"flight":` + flight + `,"names":` + names + `}`,
		},
		{
			"Publish", stepPublish, map[string]string{stepSeverity: `{"severity":"low","names":` + names + `}`},
			`{"record":1,"severity":"low","headline":"1990-01-08, Here, LA: T-38A (Military), climb at unknown speed, turkey vulture: damage not settled"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := handle(t, tt.step, rows[0], tt.parents)
			if got.Status != protocol.ResultCompleted || string(got.Result) != tt.want {
				t.Errorf("got %s %s %+v, want %s", got.Status, got.Result, got.Error, tt.want)
			}
		})
	}

	t.Run("DirtIsFinalAndHasDetails", func(t *testing.T) {
		t.Parallel()
		got := handle(t, stepPrice, rows[3], parsed(rows[3]))
		final := false
		want := &tasker.Failure{
			Type: "MissingValue", Code: "cost_missing", Message: `cost_total "0" is no price for substantial damage`,
			Retryable: &final, Details: json.RawMessage(`{"record":4,"field":"cost_total","value":"0"}`),
		}
		if diff := cmp.Diff(want, got.Error); got.Status != protocol.ResultFailed || diff != "" {
			t.Errorf("%s (-want +got):\n%s", got.Status, diff)
		}
	})

	t.Run("ResultTypedWrongIsFinal", func(t *testing.T) {
		t.Parallel()
		got := handle(t, stepSeverity, rows[0], map[string]string{stepPrice: `"much"`})
		if got.Error == nil || got.Error.Retryable == nil || *got.Error.Retryable {
			t.Errorf("got %+v, want a failure for good", got)
		}
	})
}

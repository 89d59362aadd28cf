package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/worker/protocol"
)

// The benchmarks measure the server without the network. One operation is one request of 100 tasks or results.

func BenchmarkSubmitBatch(b *testing.B) {
	req := tasker.SubmitRequest{}
	for i := range 100 {
		req.Tasks = append(req.Tasks, tasker.TaskRequest{
			TaskType: "noop", Priority: tasker.High, IdempotencyKey: fmt.Sprint("key-", i),
			Context: json.RawMessage(fmt.Sprintf(`{"order":%d,"customer":"c-%d","note":"%080d"}`, i, i, i)),
		})
	}
	benchmark(b, "/v1/tasks/batch", req)
}

func BenchmarkResultBatch(b *testing.B) {
	req := protocol.SettleRequest{}
	for i := range 100 {
		req.Results = append(req.Results, protocol.StepResult{
			StepUUID: stepID, Token: strconv.Itoa(i), Status: protocol.ResultCompleted, Result: json.RawMessage(`{"ok":true}`),
		})
	}
	benchmark(b, "/internal/workers/"+workerID.String()+"/result", req)
}

func BenchmarkPoll(b *testing.B) {
	benchmark(b, "/internal/workers/"+workerID.String()+"/poll", protocol.PollRequest{Capacity: 100})
}

func benchmark(b *testing.B, path string, req any) {
	body, err := json.Marshal(req)
	if err != nil {
		b.Fatal(err)
	}
	h := httpapi.New(&fake{}, httpapi.Options{})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body.String())
		}
	}
}

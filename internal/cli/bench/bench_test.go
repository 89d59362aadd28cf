package bench_test

import (
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// Every phase runs and counts; the measurements are not judged.
func TestThroughput(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Tasks: 300, Workers: 10,
		Producers: 4})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*bench.Phase{"insert": r.Insert, "bulk_insert": r.BulkInsert, "drain": r.Drain,
		"end_to_end": r.EndToEnd} {
		if p == nil || p.PerSecond <= 0 || p.Seconds <= 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Mode: bench.Latency, Tasks: 5,
		Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Submit == nil || r.SubmitToStart == nil || r.Submit.P50 <= 0 || r.SubmitToStart.P50 <= 0 || r.Workflow == nil {
		t.Errorf("%+v", r)
	}
}

func TestLetters(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	for broker, url := range map[string]string{"memory": "", "redis-list": redis.URL(), "redis-stream": redis.URL(),
		"rabbitmq": rabbittest.Shared(t), "kafka": kafkatest.Shared(t)} {
		t.Run(broker, func(t *testing.T) { testLetters(t, broker, url) })
	}
	if keys, err := redistest.Do(redis.URL(), "KEYS", "*"); err != nil || len(keys.([]any)) > 0 {
		t.Errorf("%v: afterwards Redis has %v", err, keys)
	}
}

func TestIntake(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Mode: bench.Intake,
		Tasks: 1200})
	if err != nil {
		t.Fatal(err)
	}
	if r.Intake == nil || r.Intake.PerSecond <= 0 {
		t.Errorf("the report is %+v", r)
	}
}

func testLetters(t *testing.T, broker, url string) {
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Mode: bench.Letters,
		Letters: 600, Groups: 7, Broker: broker, BrokerURL: url})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Dead
	if d == nil || d.Letters != 600 || d.Groups != 7 || d.Redriven != 600 || d.FingerprintMicros <= 0 {
		t.Fatalf("%+v", d)
	}
	for name, p := range map[string]*bench.Phase{"capture": d.Capture, "freeze": d.Freeze, "redrive": d.Redrive} {
		if p == nil || p.PerSecond <= 0 || p.Seconds <= 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for _, p := range d.Pages {
		if p.P50 <= 0 || p.Max < p.P50 {
			t.Errorf("%s: %+v", p.Name, p)
		}
	}
	if len(d.Pages) != 12 {
		t.Errorf("%d pages were read, want 12", len(d.Pages))
	}
}

func TestRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]bench.Options{
		"NoDatabase": {}, "UnknownVia": {DB: "x", Via: "pigeon"}, "UnknownMode": {DB: "x", Mode: "mood"},
		"NoExecutable": {DB: "x", Via: bench.ViaHTTP}, "NegativeTasks": {DB: "x", Tasks: -1},
		"NegativeWorkers":   {DB: "x", Workers: -1},
		"NegativeProducers": {DB: "x", Producers: -1}, "ShortPayload": {DB: "x", PayloadBytes: 1},
		"NodesInProcess": {DB: "postgres://h/d", Nodes: 2}, "NodesOnSQLite": {DB: "x", Via: bench.ViaHTTP, Nodes: 2},
		"LettersOverHTTP":  {DB: "x", Mode: bench.Letters, Via: bench.ViaHTTP},
		"TooManyLetters":   {DB: "x", Mode: bench.Letters, Letters: 1_000_001},
		"NegativeLetters":  {DB: "x", Mode: bench.Letters, Letters: -1},
		"MoreGroups":       {DB: "x", Mode: bench.Letters, Letters: 10, Groups: 11},
		"UnknownBroker":    {DB: "x", Mode: bench.Letters, Broker: "pigeon"},
		"BrokerWithoutURL": {DB: "x", Mode: bench.Letters, Broker: "redis-list"},
		"URLWithoutBroker": {DB: "x", Mode: bench.Letters, BrokerURL: "redis://h"},
		"TooManyNodes":     {DB: "postgres://h/d", Via: bench.ViaHTTP, Nodes: 1000, Workers: 1000},
		"FewerWorkersThan": {DB: "postgres://h/d", Via: bench.ViaHTTP, Nodes: 3, Workers: 2},
	} {
		if _, err := bench.Run(t.Context(), o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

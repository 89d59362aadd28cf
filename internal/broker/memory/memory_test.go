package memory_test

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	suite(t, mutant{}, 0)
}

func open(t *testing.T, o *memory.Options) (*memory.Broker, driver.Driver) {
	t.Helper()
	b := memory.New(o)
	b.Declare("q")
	d, err := b.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return b, d
}

func messages(n int) []driver.Message {
	out := make([]driver.Message, n)
	for i := range out {
		out[i] = driver.Message{Key: []byte{byte(i % 2)}, Payload: fmt.Append(nil, i)}
	}
	return out
}

func drain(t *testing.T, d driver.Driver) (driver.Receiver, []string, []driver.Message) {
	t.Helper()
	r, err := d.Open(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	_, depth, err := d.Stat(t.Context(), "q")
	if err != nil || depth == 0 {
		return r, nil, nil
	}
	got, err := r.Receive(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	var payloads []string
	for _, m := range got {
		payloads = append(payloads, string(m.Payload))
	}
	return r, payloads, got
}

func TestFailedSendHoldsBackItsKey(t *testing.T) {
	t.Parallel()
	b, d := open(t, nil)
	b.FailSends(1, nil)
	errs := d.Send(t.Context(), "q", messages(5), driver.Limits{}) // keys 0 1 0 1 0
	for i, err := range errs {
		switch {
		case i == 0 && (err == nil || driver.Permanent(err)), i%2 == 1 && err != nil,
			i > 0 && i%2 == 0 && !errors.Is(err, driver.ErrBehind):
			t.Errorf("message %d: %v", i, err)
		}
	}
	if _, got, _ := drain(t, d); fmt.Sprint(got) != "[1 3]" {
		t.Fatalf("received %q", got)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	b, d := open(t, nil)
	b.LoseConfirms(1)
	errs := d.Send(t.Context(), "q", messages(2), driver.Limits{})
	if !errors.Is(errs[0], driver.ErrUncertain) || errs[1] != nil {
		t.Fatalf("Send returned %v", errs)
	}
	b.DeliverTwice(1)
	r, got, _ := drain(t, d)
	if fmt.Sprint(got) != "[0 1]" {
		t.Fatalf("received %q", got)
	}
	again, err := r.Receive(t.Context(), 10)
	if err != nil || len(again) != 1 || !again[0].Redelivered || string(again[0].Payload) != "0" {
		t.Fatalf("the second delivery is %v, %v", again, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	b.ForgetAcks(1)
	b.FailAcks(1, nil)
	r, _, all := drain(t, d)
	if err := r.Ack(t.Context(), all); err == nil {
		t.Fatal("an acknowledgement that was told to fail did not")
	}
	if err := r.Ack(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if _, got, _ = drain(t, d); fmt.Sprint(got) != "[0 1]" {
		t.Fatalf("received %q after a forgotten acknowledgement", got)
	}
	b.Disconnect()
	if _, err := d.Open(t.Context(), "q"); !errors.Is(err, driver.ErrLost) {
		t.Fatalf("after a cut Open returns %v", err)
	}
}

func TestFailedReceiveDeliversNothing(t *testing.T) {
	t.Parallel()
	b, d := open(t, &memory.Options{NoPositions: true})
	d.Send(t.Context(), "q", messages(1), driver.Limits{})
	b.FailReceives(1, driver.ErrLost)
	r, err := d.Open(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Receive(t.Context(), 1); !errors.Is(err, driver.ErrLost) {
		t.Fatalf("Receive returned %v", err)
	}
	got, err := r.Receive(t.Context(), 1)
	if err != nil || len(got) != 1 || got[0].Redelivered || got[0].Position != "" {
		t.Fatalf("the next Receive returned %+v, %v", got, err)
	}
}

func BenchmarkThroughput(b *testing.B) {
	broker := memory.New(nil)
	broker.Declare("q")
	d, err := broker.Open(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	r, err := d.Open(b.Context(), "q")
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]driver.Message, 500)
	for i := range batch {
		batch[i] = driver.Message{Key: []byte("key"), Payload: make([]byte, 1024)}
	}
	n := 0
	for b.Loop() {
		for _, err := range d.Send(b.Context(), "q", batch, driver.Limits{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
		got, err := r.Receive(b.Context(), len(batch))
		if err == nil {
			err = r.Ack(b.Context(), got)
		}
		if err != nil {
			b.Fatal(err)
		}
		n += len(got)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "msgs/s")
}

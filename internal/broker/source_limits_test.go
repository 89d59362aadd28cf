package broker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// Occasional breaks of a connection do not lengthen the pauses.
func TestPausesBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.run()
		for i := 1; i <= 20; i++ {
			r.send(i, i)
			time.Sleep(time.Second)
			r.want(i, 0)
			r.Disconnect()
		}
		r.stop()
	})
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		d, err := r.Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		large := driver.Message{Payload: make([]byte, driver.BatchBytes/2)}
		all := []driver.Message{large, large, large, large, large}
		for _, err := range d.Send(context.Background(), "q", all, driver.Limits{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		_ = d.Close()
		r.run()
		time.Sleep(time.Second)
		r.stop()
		if len(r.batches) != 3 || r.batches[0] != 2 || r.batches[1] != 2 {
			t.Fatalf("the batches are %v", r.batches)
		}
	})
}

package engine

import (
	"flag"
	"os"
	"testing"

	"github.com/taskerhq/tasker/internal/engine/kernel"
)

var updateOrder = flag.Bool("update-order", false, "write the order of stages anew")

func TestOrderOfStages(t *testing.T) {
	order, err := kernel.OrderOf(features())
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/order.txt"
	if *updateOrder {
		if err := os.WriteFile(file, []byte(order), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if order != string(want) {
		t.Errorf("the order has changed; it must not do so by accident (write it with -update-order):\n%s", order)
	}
}

package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/taskerhq/tasker/embedded"
)

// A template is tested without workers: a script defines the results of its steps, and back-offs take no time.
func ExampleSimulate() {
	const order = `
name: order
version: "1"
steps:
  - {name: charge, handler: charge}
  - {name: ship, handler: ship, dependencies: [charge], retry: {max_attempts: 2}}
on_failure:
  - {name: refund, handler: refund, dependencies: [charge]}`
	const script = `
context: {amount: 1200}
steps:
  charge: {result: {id: 7}}
  ship: {fail: {message: no truck}}`
	out, err := embedded.Simulate(context.Background(), order, script, embedded.SimulateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.State, out.Step("ship").Attempts, out.Step("refund").State)
	// Output: error 2 complete
}

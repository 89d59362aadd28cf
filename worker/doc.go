// Package worker runs the steps of tasks: it claims them from the Backend of a tasker.Client, calls handlers, renews
// leases, and reports results.
//
//	w := worker.New(client, nil)
//	worker.Handle(w, "greet", func(ctx context.Context, name string) (string, error) {
//		return "Hello, " + name + "!", nil
//	})
//	err := w.Run(ctx)
//
// A [Handler] is the function that runs one step, and a [Job] the step it runs. What a handler returns as its error
// decides what follows: see [NonRetryable], [WithClass], [RetryAfter] and [Snooze].
//
// # Reading
//
// Start with worker.go, then session.go, one run of a worker: the other files are its parts.
package worker

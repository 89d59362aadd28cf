//go:build unix

package clienttest_test

import "testing"

var outages = []struct {
	name string
	env  []string
	run  func(w *world)
}{
	{"Restart", leases(), restart},
	{"Forgotten", leases(), forgotten},
	{"StopMeanwhile", leases(), stopMeanwhile},
	{"StaleToken", nil, staleToken},
}

// TestWorkerOutages: workers in all languages survive server failures, with a server per scenario.
func TestWorkerOutages(t *testing.T) {
	t.Parallel()
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.ready(t)
			for _, o := range outages {
				t.Run(o.name, func(t *testing.T) {
					t.Parallel()
					o.run(newWorld(t, &l, serve(t, o.env...)))
				})
			}
		})
	}
}

// restart: while the server is away for longer than a lease, handlers continue and results are kept. Afterwards nothing
// was lost or done twice.
func restart(w *world) {
	p := w.work("w", workerOptions{})
	first, open := w.gate("first")
	second, openSecond := w.gate("second")
	done := w.submit("act", order{Ref: "done", Gate: first})
	goesOn := w.submit("act", order{Ref: "on", Gate: second})
	p.says("begin done 1")
	p.says("begin on 1")
	w.server.Kill()
	w.server.Gone()
	open()
	p.says("end done")
	p.says("no server answers, steps go on past the end of their leases")
	w.server.start(w.T)
	if got := w.result(done); got.Attempt != 1 {
		w.Errorf("the result is %+v", got)
	}
	w.wantOutcomes(done, "completed")
	openSecond()
	if got := w.result(goesOn); got.Attempt != 1 {
		w.Errorf("the result is %+v", got)
	}
	w.wantOutcomes(goesOn, "completed")
	w.works("w")
	p.stop()
}

// stopMeanwhile: a worker without work ends without an error while its server is away.
func stopMeanwhile(w *world) {
	p := w.work("w", workerOptions{})
	w.works("w")
	w.idle() // a result whose answer the kill cuts off would be work
	w.server.Kill()
	w.server.Gone()
	p.stop()
	p.says("ended")
}

// forgotten: after a replacement of the database, the worker registers again.
func forgotten(w *world) {
	p := w.work("w", workerOptions{})
	w.works("w")
	w.server.Stop()
	w.server.DSN = "sqlite:" + w.server.dir + "/other.db"
	w.server.start(w.T)
	w.works("w")
	p.stop()
}

// staleToken: the task is cancelled, and the handler succeeds before the worker learns of it. Its result is refused,
// and the worker continues. Heartbeats are half a minute apart here.
func staleToken(w *world) {
	p := w.work("w", workerOptions{})
	gate, open := w.gate("gate")
	id := w.submit("act", order{Ref: "stale", Gate: gate})
	p.says("begin stale 1")
	w.cancel(id)
	open()
	p.says("end stale")
	w.works("w")
	p.silent("told stale cancelled")
	w.wantOutcomes(id, "cancelled")
	p.stop()
}

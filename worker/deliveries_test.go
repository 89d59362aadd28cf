package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// over makes a worker with a Transport. Its handler "go" returns immediately, "hold" with its context or release.
func over(f *fake, tr worker.Transport, concurrency int, release <-chan struct{}) (*worker.Worker, *atomic.Int64) {
	w := newWorker(f, worker.Options{Transport: tr, Concurrency: concurrency})
	ran := new(atomic.Int64)
	w.Handle("go", func(context.Context, *worker.Job) (any, error) { ran.Add(1); return "done", nil })
	w.Handle("hold", func(ctx context.Context, _ *worker.Job) (any, error) {
		ran.Add(1)
		select {
		case <-release:
			return "done", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return w, ran
}

func wantAnswers(t *testing.T, tr *fakeTransport, token string, want ...string) {
	t.Helper()
	if got := tr.of(token); !slices.Equal(got, want) {
		t.Errorf("message %s was answered %v, want %v", token, got, want)
	}
}

func TestTransportRunsWhatIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, tr := withQueue(newFake()), newFakeTransport()
		f.onStart = func(req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
			answers := answer(req.Steps, protocol.LeaseHeld)
			for i, s := range req.Steps {
				switch s.Token {
				case "cancelled":
					answers[i].Status = protocol.LeaseCancelled
				case "late":
					answers[i].Status = protocol.LeaseLost
					answers[i].Error = &tasker.Error{Code: tasker.CodeStaleToken, Message: "not in force"}
				}
			}
			return answers, nil
		}
		w, ran := over(f, tr, 4, nil)
		r := run(t, w)
		synctest.Wait()
		if reg := f.registered[0]; reg.Transport != "amqp" {
			t.Errorf("registered with the transport %q, want amqp", reg.Transport)
		}
		if in := tr.received()[0]; in.Queue != f.self.Queue || in.Prefetch != 4 {
			t.Errorf("receives %d from %q, want 4 from %q", in.Prefetch, in.Queue, f.self.Queue)
		}
		tr.send(sent("go", "held"), sent("go", "cancelled"), sent("go", "late"))
		synctest.Wait()
		for _, token := range []string{"held", "cancelled", "late"} {
			wantAnswers(t, tr, token, "ack")
		}
		if got := f.results(); ran.Load() != 1 || len(got) != 1 || got[0].Token != "held" ||
			got[0].Status != protocol.ResultCompleted {
			t.Errorf("%d steps ran and the results are %+v, want only the held one", ran.Load(), got)
		}
		if f.pollCount() != 0 {
			t.Error("a worker with a transport polled")
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if len(f.drains) != 1 || !f.drains[0].Final {
			t.Errorf("drains = %+v, want one, final", f.drains)
		}
	})
}

// TestTransportKeepsRoom: no more steps run than there are slots, and waiting steps share a request.
func TestTransportKeepsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, tr := withQueue(newFake()), newFakeTransport()
		release := make(chan struct{})
		w, ran := over(f, tr, 2, release)
		r := run(t, w)
		synctest.Wait()
		tr.send(sent("hold", "1"), sent("hold", "2"), sent("hold", "3"), sent("hold", "4"))
		synctest.Wait()
		if ran.Load() != 2 || len(tr.of("3"))+len(tr.of("4")) != 0 {
			t.Errorf("%d steps run, want 2, and the others unacknowledged", ran.Load())
		}
		starts := len(f.starts)
		close(release)
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := len(f.starts) - starts; ran.Load() != 4 || got > 2 {
			t.Errorf("%d steps ran in %d more requests, want 4 in at most 2", ran.Load(), got)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestTransportWaitsForTheServer: without an answer no step runs and no message is acknowledged.
func TestTransportWaitsForTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, tr := withQueue(newFake()), newFakeTransport()
		var down atomic.Bool
		down.Store(true)
		f.onStart = func(req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
			if down.Load() {
				return nil, tasker.Errorf(tasker.CodeUnavailable, "down")
			}
			return answer(req.Steps, protocol.LeaseHeld), nil
		}
		w, ran := over(f, tr, 4, nil)
		r := run(t, w)
		synctest.Wait()
		again := sent("go", "1")
		tr.send(again, sent("go", "2"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(f.starts); n < 4 || n > 20 || ran.Load() != 0 || len(tr.of("1")) != 0 {
			t.Errorf("%d requests in a minute and %d steps ran, want growing pauses and none", n, ran.Load())
		}
		// The connection was lost meanwhile, and the broker delivers again.
		tr.send(again)
		down.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if ran.Load() != 2 || len(f.results()) != 2 {
			t.Errorf("%d steps ran, with %d results, want 2 and 2", ran.Load(), len(f.results()))
		}
		wantAnswers(t, tr, "2", "ack")
		if got := tr.of("1"); len(got) == 0 || got[0] != "ack" {
			t.Errorf("the message that came twice was answered %v", got)
		}
		tr.mu.Lock()
		tr.open = 0
		tr.mu.Unlock()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestTransportDeliversAgain: a repeated message of a running step is acknowledged, and the step runs once.
func TestTransportDeliversAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, tr := withQueue(newFake()), newFakeTransport()
		release := make(chan struct{})
		w, ran := over(f, tr, 2, release)
		r := run(t, w)
		synctest.Wait()
		s := sent("hold", "1")
		tr.send(s)
		synctest.Wait()
		tr.send(s)
		synctest.Wait()
		wantAnswers(t, tr, "1", "ack", "ack")
		close(release)
		synctest.Wait()
		if ran.Load() != 1 || len(f.starts) != 1 || len(f.results()) != 1 {
			t.Errorf("%d runs, %d starts, %d results, want one of each", ran.Load(), len(f.starts), len(f.results()))
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestTransportAfterForgottenRegistration: the worker receives from its new queue only.
func TestTransportAfterForgottenRegistration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, tr := withQueue(newFake()), newFakeTransport()
		f.onStart = func(req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
			if req.WorkerID == tr.received()[0].WorkerID {
				return nil, tasker.Errorf(tasker.CodeNotFound, "no such worker")
			}
			return answer(req.Steps, protocol.LeaseHeld), nil
		}
		w, ran := over(f, tr, 2, nil)
		r := run(t, w)
		synctest.Wait()
		tr.send(sent("go", "old"))
		time.Sleep(time.Second)
		synctest.Wait()
		in := tr.received()
		if len(in) != 2 || in[0].WorkerID == in[1].WorkerID || len(f.registered) != 2 {
			t.Fatalf("received %d times after %d registrations, want 2 and 2", len(in), len(f.registered))
		}
		wantAnswers(t, tr, "old", "ack")
		tr.send(sent("go", "new"))
		synctest.Wait()
		wantAnswers(t, tr, "new", "ack")
		if ran.Load() != 1 {
			t.Errorf("%d steps ran, want only the one of the new registration", ran.Load())
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestTransportDrains: a stopping worker first tells the server, returns unstarted steps, and finishes the rest.
func TestTransportDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, tr := withQueue(newFake()), newFakeTransport()
		release := make(chan struct{})
		f.onSettle = func(_ context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
			if beats := f.allBeats(); len(beats) == 0 || beats[len(beats)-1].Status != "draining" {
				return nil, errors.New("a step came back before the worker was known to leave")
			}
			return nil, nil
		}
		w, _ := over(f, tr, 1, release)
		r := run(t, w)
		synctest.Wait()
		tr.send(sent("hold", "runs"), sent("hold", "waits"))
		synctest.Wait()
		r.cancel()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := f.results(); len(got) != 1 || got[0].Token != "waits" || got[0].Status != protocol.ResultReleased {
			t.Errorf("results %+v, want the waiting step released at once", got)
		}
		wantAnswers(t, tr, "waits", "ack")
		tr.send(sent("hold", "comes late"))
		synctest.Wait()
		wantAnswers(t, tr, "comes late", "ack")
		close(release)
		if err := <-r.err; err != nil {
			t.Error(err)
		}
		if got := f.results(); len(got) != 3 || got[2].Status != protocol.ResultCompleted {
			t.Errorf("results %+v, want the running step completed", got)
		}
	})
}

// TestTransportDrainsWithoutServer: messages whose steps nobody takes back return to the queue.
func TestTransportDrainsWithoutServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, tr := withQueue(newFake()), newFakeTransport()
		down := tasker.Errorf(tasker.CodeUnavailable, "down")
		f.onStart = func(protocol.StartRequest) ([]protocol.LeaseAnswer, error) { return nil, down }
		f.onSettle = func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) { return nil, down }
		f.onHeartbeat = func(protocol.Heartbeat) (*protocol.HeartbeatResponse, error) { return nil, down }
		w, ran := over(f, tr, 1, nil)
		r := run(t, w)
		synctest.Wait()
		tr.send(sent("go", "1"))
		synctest.Wait()
		if err := r.stop(); err == nil {
			t.Error("Run = nil, want an error: a step could not be given back")
		}
		wantAnswers(t, tr, "1", "release")
		if ran.Load() != 0 {
			t.Error("a step ran that no server had started")
		}
	})
}

func TestTransportRefused(t *testing.T) {
	t.Parallel()
	t.Run("Broker", func(t *testing.T) {
		t.Parallel()
		f, tr := withQueue(newFake()), newFakeTransport()
		tr.check = tasker.Errorf(tasker.CodeForbidden, "access refused")
		w, _ := over(f, tr, 1, nil)
		if err := w.Run(t.Context()); tasker.ErrorCode(err) != tasker.CodeForbidden || len(f.registered) != 0 {
			t.Errorf("Run = %v after %d registrations, want the refusal and none", err, len(f.registered))
		}
	})
	t.Run("NoQueue", func(t *testing.T) {
		t.Parallel()
		w, _ := over(newFake(), newFakeTransport(), 1, nil)
		if err := w.Run(t.Context()); tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("Run = %v, want CodeInvalid: the server has no broker", err)
		}
	})
	t.Run("Step", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f, tr := withQueue(newFake()), newFakeTransport()
			f.onStart = func(req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
				if slices.ContainsFunc(req.Steps, func(r protocol.LeaseRef) bool { return r.Token == "bad" }) {
					return nil, tasker.Errorf(tasker.CodeInvalid, "no such token")
				}
				return answer(req.Steps, protocol.LeaseHeld), nil
			}
			w, ran := over(f, tr, 4, nil)
			r := run(t, w)
			synctest.Wait()
			tr.send(sent("go", "1"), sent("go", "bad"), sent("go", "2"))
			synctest.Wait()
			wantAnswers(t, tr, "bad", "reject")
			wantAnswers(t, tr, "2", "ack")
			if ran.Load() != 2 {
				t.Errorf("%d steps ran, want 2", ran.Load())
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	})
}

package stall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/remote"
)

const (
	patience = 2 * time.Minute // with everything that is to come
	rounds   = 2               // of all stalls
	batch    = 2 * slots       // steps at a time: more than one worker takes
	// redisLeases is where lease numbers of Redis begin: they come from the clock.
	redisLeases = 1 << 40
)

// stall is a way in which the link of a worker stalls.
type stall struct {
	name  string
	stall func(*cluster.Link) error
	// asleep stalls before the steps are handed out, else after they have begun.
	asleep bool
	then   sequel
}

// sequel is the event after a stall.
type sequel int

const (
	takenOver sequel = iota // others have the worker's steps
	inVain                  // and the worker reports them anyway
	heard                   // the worker's report arrives, but not its answer
)

var stalls = []stall{
	{"ReportHeld", func(l *cluster.Link) error { return l.Hold(cluster.Up) }, false, inVain},
	{"NothingPasses", func(l *cluster.Link) error { return l.Starve(cluster.Up, cluster.Down) }, false, inVain},
	{"AnswerHeld", func(l *cluster.Link) error { return l.Hold(cluster.Down) }, false, heard},
	{"AnswerLost", func(l *cluster.Link) error { return l.Swallow(cluster.Down) }, false, heard},
	{"ReportLost", func(l *cluster.Link) error { return l.Swallow(cluster.Up, cluster.Down) }, false, takenOver},
	{"HandoutHeld", func(l *cluster.Link) error { return l.Hold(cluster.Down) }, true, inVain},
}

// TestStalledWorkers stalls the links of two workers in turn and in every way, while they have steps. The other one
// takes over. The server accepts one result of each step, and keeps it.
func TestStalledWorkers(t *testing.T) {
	t.Parallel()
	binary, err := process.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("Native", func(t *testing.T) {
		t.Parallel()
		play(t, newStage(t, binary, "native"))
	})
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, binary, redistest.Start(t).URL())
		play(t, s)
		for _, p := range s.workers {
			for _, n := range p.all() {
				if n.Kind == noteBegun && crashtest.LeaseNo(n.Token) < redisLeases {
					t.Fatalf("step %s was handed out under the token %s, and not by Redis", n.Step, n.Token)
				}
			}
		}
	})
}

func play(t *testing.T, s *stage) {
	for round := range rounds {
		for i, x := range stalls {
			victim := s.workers[(round+i)%2]
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if err := s.act(ctx, x, victim); err != nil {
				t.Fatalf("round %d, %s, %s stalls: %v", round, x.name, victim.name, err)
			}
			cancel()
			t.Logf("%s, %s stalls: %.1fs", x.name, victim.name, time.Since(began).Seconds())
		}
	}
	s.judge(t)
}

// stage is a server with two workers.
type stage struct {
	client  *tasker.Client // beside all links
	workers [2]*program
	tasks   []uuid.UUID
}

type program struct {
	name string
	link *cluster.Link
	in   io.Writer
	notes
}

func newStage(t *testing.T, binary, dispatch string) *stage {
	t.Helper()
	addresses, err := process.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("what everybody logged:\n%s", text[max(0, len(text)-20_000):])
		}
	})
	server := &process.Server{Program: binary, DSN: "sqlite:" + filepath.Join(dir, "tasker.db"), Address: addresses[0],
		Log: log, Group: group,
		Env: append(process.ShortLeases(), "TASKER_DISPATCH="+dispatch)}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	s := &stage{}
	if s.client, err = remote.Dial(server.URL(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.client.Close() })
	for i, name := range []string{"ann", "bob"} {
		s.workers[i] = newProgram(t, name, server.Address, log)
	}
	return s
}

func newProgram(t *testing.T, name, server string, log *os.File) *program {
	t.Helper()
	link, err := cluster.NewLink("127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	p := &program{name: name, link: link, notes: notes{changed: make(chan struct{})}}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"=http://"+link.Address(), nameVariable+"="+name)
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.in = in
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		p.listen(out)
	}()
	t.Cleanup(func() { // it ends with this process, because its input does
		in.Close()
		_ = cmd.Process.Kill()
		<-heard
		_ = cmd.Wait() // it was killed
		link.Close()
	})
	return p
}

func (p *program) say(ctx context.Context, what string) error {
	from := len(p.all())
	if _, err := io.WriteString(p.in, what+"\n"); err != nil {
		return fmt.Errorf("tell %s: %w", p.name, err)
	}
	if what != hold {
		return nil
	}
	_, err := p.await(ctx, from, func(n note) bool { return n.Kind == noteHolds })
	return err
}

// act gives the victim steps, stalls its link until the sequel has happened, and waits for the victim's notes.
func (s *stage) act(ctx context.Context, x stall, victim *program) error {
	from := len(victim.all())
	if err := s.say(ctx, hold); err != nil {
		return err
	}
	if x.asleep {
		if err := x.stall(victim.link); err != nil {
			return err
		}
	}
	ids, step, err := s.give(ctx, victim)
	if err != nil {
		return err
	}
	if !x.asleep {
		if _, err := victim.await(ctx, from, func(n note) bool { return n.Kind == noteBegun && n.Step == step }); err != nil {
			return fmt.Errorf("%s does not begin: %w", victim.name, err)
		}
		if err := x.stall(victim.link); err != nil {
			return err
		}
	}
	if err := s.say(ctx, free); err != nil {
		return err
	}
	if x.then == heard {
		err = s.arrives(ctx, ids, victim)
	} else {
		err = s.complete(ctx, ids)
	}
	if err = errors.Join(err, victim.link.Restore(ctx)); err != nil {
		return err
	}
	if x.then == inVain {
		_, err = victim.await(ctx, from, func(n note) bool { return n.Step == step && n.Code == tasker.CodeStaleToken })
		if err != nil {
			return fmt.Errorf("%s reports no result for step %s in vain: %w", victim.name, step, err)
		}
	}
	return s.complete(ctx, ids)
}

func (s *stage) say(ctx context.Context, what string) error {
	for _, p := range s.workers {
		if err := p.say(ctx, what); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) complete(ctx context.Context, ids []uuid.UUID) error {
	for _, id := range ids {
		if task, err := s.client.Wait(ctx, id); err != nil || task.State != tasker.TaskComplete {
			return fmt.Errorf("task %s: %+v, %w", id, task, err)
		}
	}
	return nil
}

func (s *stage) arrives(ctx context.Context, ids []uuid.UUID, victim *program) error {
	_, err := s.find(ctx, ids, func(step tasker.Step) bool {
		return step.State == tasker.StepComplete && victim.is(step.Worker)
	})
	if err != nil {
		return fmt.Errorf("no result of %s arrives: %w", victim.name, err)
	}
	return nil
}

func (s *stage) find(ctx context.Context, ids []uuid.UUID, wanted func(tasker.Step) bool) (uuid.UUID, error) {
	for {
		for _, id := range ids {
			steps, err := s.client.Steps(ctx, id)
			if err != nil {
				return uuid.Nil, err
			}
			if wanted(steps[0]) {
				return steps[0].StepUUID, nil
			}
		}
		if err := clock.Sleep(ctx, 20*time.Millisecond); err != nil {
			return uuid.Nil, err
		}
	}
}

// give submits tasks until the victim has a step of them on the server. The other worker ends none, so it takes no more
// than its share.
func (s *stage) give(ctx context.Context, victim *program) (ids []uuid.UUID, step uuid.UUID, err error) {
	for len(ids) < batch {
		receipt, err := s.client.Submit(ctx, tasker.TaskRequest{TaskType: "job"})
		if err != nil {
			return nil, uuid.Nil, err
		}
		ids = append(ids, receipt.TaskUUID)
	}
	s.tasks = append(s.tasks, ids...)
	step, err = s.find(ctx, ids, func(step tasker.Step) bool {
		return step.State == tasker.StepInProgress && victim.is(step.Worker)
	})
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("%s gets no step: %w", victim.name, err)
	}
	return ids, step, nil
}

func (p *program) is(worker string) bool { return strings.HasPrefix(worker, p.name) }

// judge compares the workers' answers with the end state.
func (s *stage) judge(t *testing.T) {
	taken, refused, begun := map[uuid.UUID][]result{}, 0, map[uuid.UUID]int{}
	for _, p := range s.workers {
		for _, n := range p.all() {
			switch {
			case n.Kind == noteBegun:
				begun[n.Step]++
			case n.Kind != noteAnswered:
			case n.Code == "":
				taken[n.Step] = append(taken[n.Step], result{p.name, n.Token})
			case n.Code == tasker.CodeStaleToken:
				refused++
			default:
				t.Errorf("a result for step %s was refused as %s", n.Step, n.Code)
			}
		}
	}
	repeated := 0
	for _, id := range s.tasks {
		steps, err := s.client.Steps(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		history, err := s.client.TaskHistory(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		step := steps[0]
		if begun[step.StepUUID] > 1 {
			repeated++
		}
		var stored result
		if err := json.Unmarshal(step.Results, &stored); err != nil || step.State != tasker.StepComplete {
			t.Errorf("step %s is %s with %s: %v", step.StepUUID, step.State, step.Results, err)
		}
		completed := slices.DeleteFunc(slices.Clone(history.Attempts), func(a tasker.Attempt) bool {
			return a.Outcome != "completed"
		})
		if len(completed) != 1 || completed[0].Lease != crashtest.LeaseNo(stored.Token) {
			t.Errorf("step %s holds the result of %+v; its history has the completions %+v", step.StepUUID, stored, completed)
		}
		// An answer may be lost; an arrived one is true.
		if got := taken[step.StepUUID]; len(got) > 1 || len(got) == 1 && got[0] != stored {
			t.Errorf("step %s holds the result of %+v; these were told that theirs was taken: %+v", step.StepUUID, stored, got)
		}
	}
	t.Logf("%d steps, %d begun more than once, %d results refused", len(s.tasks), repeated, refused)
	if repeated == 0 || refused == 0 {
		t.Error("nothing was stalled for long enough to show anything")
	}
}

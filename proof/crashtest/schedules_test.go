//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/schedules"
)

// TestKillWhileSchedulesFire kills the server around the times of a schedule that fires every second and catches up on
// missed times: each time must have exactly one task.
func TestKillWhileSchedulesFire(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	nodes, client := scheduleServers(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"), 1)
	s, of := nodes[0], schedules.Of(client)
	first := tick(ctx, t, nodes, of)
	for kill := range 8 {
		// From shortly before a time, while its firing is prepared and written, to shortly after.
		at := time.Now().Truncate(time.Second).Add(time.Second + time.Duration(kill*4-8)*time.Millisecond)
		if err := clock.Sleep(ctx, time.Until(at)); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		s.Gone()
		if kill == 4 { // away long enough to miss times
			if err := clock.Sleep(ctx, 2500*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	judgeTicks(ctx, t, nodes, client, first)
}

// TestKillNodesWhileSchedulesFire is the same with two nodes on one PostgreSQL: it kills one, the other, and both.
func TestKillNodesWhileSchedulesFire(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	nodes, client := scheduleServers(t, pgtest.DSN(t), 2)
	first := tick(ctx, t, nodes, schedules.Of(client))
	for kill := range 6 {
		at := time.Now().Truncate(time.Second).Add(time.Second + time.Duration(kill*5-8)*time.Millisecond)
		if err := clock.Sleep(ctx, time.Until(at)); err != nil {
			t.Fatal(err)
		}
		killed := nodes
		if kill%3 < 2 {
			killed = nodes[kill%3 : kill%3+1]
		}
		for _, s := range killed {
			s.Kill()
		}
		for _, s := range killed {
			s.Gone()
		}
		if len(killed) == len(nodes) {
			if err := clock.Sleep(ctx, 2500*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range killed {
			if err := s.Start(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	judgeTicks(ctx, t, nodes, client, first)
}

// tick starts nodes and saves a schedule that fires every second. It returns its first time.
func tick(ctx context.Context, t *testing.T, nodes []*process.Server, of schedules.Backend) time.Time {
	t.Helper()
	for _, s := range nodes {
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	// With the shortest grace a restart misses times. There is no worker: the tasks stay.
	saved, err := of.Save(ctx, schedules.ScheduleRequest{Spec: schedules.Spec{Name: "tick", Cron: "@every 1s",
		TaskType: "nobody", Overlap: schedules.OverlapAllow, Missed: schedules.MissedAll, MissedLimit: 1000, Grace: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return saved.NextTimes[0]
}

// judgeTicks waits until the times up to now are decided, judges them, and ends the nodes.
func judgeTicks(ctx context.Context, t *testing.T, nodes []*process.Server, client *tasker.Client, first time.Time) {
	t.Helper()
	of, until := schedules.Of(client), time.Now()
	for {
		got, err := of.Schedule(ctx, "default", "tick")
		if err != nil {
			t.Fatal(err)
		}
		if got.DecidedUntil.After(until) {
			break
		}
		if err := clock.Sleep(ctx, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if err := judgeFirings(ctx, t, of, client, first, until); err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes {
		for _, crash := range s.Crashes() {
			t.Error(crash)
		}
		s.Kill()
		s.Gone()
	}
}

func scheduleServers(t *testing.T, dsn string, n int) ([]*process.Server, *tasker.Client) {
	t.Helper()
	dir := t.TempDir()
	binary, err := process.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := process.Addresses(n)
	if err != nil {
		t.Fatal(err)
	}
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	nodes := make([]*process.Server, n)
	for i := range nodes {
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("server-%d.log", i)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		nodes[i] = &process.Server{Program: binary, DSN: dsn, Address: addresses[i], Env: process.ShortLeases(), Log: log,
			Group: group}
	}
	client, err := remote.Dial(nodes[0].URL(), &remote.Options{RequestTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return nodes, client
}

// judgeFirings compares the times with the firings and the tasks.
func judgeFirings(ctx context.Context, t *testing.T, of schedules.Backend, client *tasker.Client, first,
	until time.Time,
) error {
	t.Helper()
	history, err := of.Firings(ctx, "default", "tick", schedules.FiringFilter{Limit: 1000})
	if err != nil {
		return err
	}
	if len(history.Skips) > 0 {
		t.Errorf("skipped: %+v", history.Skips)
	}
	kinds, byTask := map[string]int{}, map[uuid.UUID]time.Time{}
	fired := map[time.Time]int{}
	for _, f := range history.Firings {
		kinds[f.Kind]++
		fired[f.Time.UTC()]++
		if f.TaskUUID == nil {
			t.Errorf("%+v has no task", f)
			continue
		}
		byTask[*f.TaskUUID] = f.Time.UTC()
	}
	times := 0
	for at := first.UTC(); !at.After(until); at = at.Add(time.Second) {
		if times++; fired[at] != 1 {
			t.Errorf("%s fired %d times", at, fired[at])
		}
	}
	// Tasks are read after the firings, so later ones may be there.
	page, err := client.Tasks(ctx, tasker.TaskFilter{Limit: 1000})
	if err != nil {
		return err
	}
	tasks := map[time.Time]int{}
	for _, task := range page.Tasks {
		if task.Schedule == nil {
			return fmt.Errorf("a task of no schedule: %+v", task)
		}
		at := task.Schedule.Time.UTC()
		if tasks[at]++; tasks[at] > 1 {
			t.Errorf("%s has %d tasks", at, tasks[at])
		}
		if of, known := byTask[task.TaskUUID]; known && of != at {
			t.Errorf("the task of %s says that it is of %s", of, at)
		}
		delete(byTask, task.TaskUUID)
	}
	if len(byTask) > 0 {
		t.Errorf("firings whose tasks do not exist: %v", byTask)
	}
	t.Logf("times=%d firings=%d by kind=%v tasks=%d", times, len(history.Firings), kinds, len(page.Tasks))
	if kinds["missed"] == 0 || times < 8 {
		t.Error("nothing was missed: the kills prove too little")
	}
	return nil
}

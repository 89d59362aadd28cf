package redisqueue_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/redislist"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

func (s server) doneKey() string { return s.queue + ":done" }

// work records a job, or fails for good if its number is divisible by seven.
func (s server) work(ctx context.Context, job redisqueue.Job) (any, error) {
	n, err := strconv.Atoi(string(job.Payload))
	if err != nil || n%7 == 0 {
		return nil, redisqueue.Permanent(errors.Join(errors.New("no"), err))
	}
	return nil, s.client.Do(ctx, s.client.B().Rpush().Key(s.doneKey()).Element(string(job.Payload)).Build()).Error()
}

// check wants each of n jobs done, or among the dead letters, by its number.
func (s server) check(n int) {
	s.Helper()
	done, dead := map[string]int{}, map[string]int{}
	for _, job := range s.list(s.doneKey()) {
		done[job]++
	}
	for _, f := range s.letters() {
		dead[string(f.Job)]++
	}
	for i := range n {
		job, in := strconv.Itoa(i), done
		if i%7 == 0 {
			in = dead
		}
		if done[job]+dead[job] == 0 || in[job] == 0 {
			s.Errorf("job %s was done %d times, and is %d dead letters", job, done[job], dead[job])
		}
	}
	if len(done)+len(dead) != n {
		s.Errorf("%d jobs were done and %d are dead letters, of %d", len(done), len(dead), n)
	}
}

func TestKilledConsumer(t *testing.T) {
	queue := os.Getenv("REDISQUEUE_TEST_QUEUE")
	if queue == "" {
		t.Skip("it is run by TestKill")
	}
	s := connect(t, os.Getenv("REDISQUEUE_TEST_URL"), queue)
	c := s.run(redisqueue.ConsumerOptions{Handler: s.work, HandlerOptions: redisqueue.HandlerOptions{
		Letters: s.deadLetters(redisqueue.DeadLetterOptions{Dir: os.Getenv("REDISQUEUE_TEST_DIR")})}})
	<-c.done
}

// Consumers are killed at any moment; each job is done, or a dead letter, in the end.
func TestKill(t *testing.T) {
	t.Parallel()
	s := shared(t)
	const jobs = 2000
	for i := range jobs {
		s.push(strconv.Itoa(i))
	}
	list, err := redislist.New(s.client, s.queue, redislist.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for kill := range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledConsumer$", "-test.timeout=1m")
		cmd.Env = append(os.Environ(), "REDISQUEUE_TEST_QUEUE="+s.queue, "REDISQUEUE_TEST_URL="+s.url,
			"REDISQUEUE_TEST_DIR="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		before := len(s.list(s.doneKey()))
		await.Until(t, "it works", func() bool { return len(s.list(s.doneKey())) >= before+100*(kill%3)+1 })
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		ids, err := s.client.Do(t.Context(),
			s.client.B().Zrange().Key(redislist.Consumers(s.queue)).Min("0").Max("-1").Build()).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			s.silence(id)
		}
		if _, err := list.TakeOver(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c := s.run(redisqueue.ConsumerOptions{Handler: s.work, HandlerOptions: redisqueue.HandlerOptions{
		Letters: s.deadLetters(redisqueue.DeadLetterOptions{Dir: dir})}})
	await.Until(t, "all is done", s.idle)
	c.stop()
	s.check(jobs)
}

// Redis restarts while a consumer works; all jobs are settled, and then those after FLUSHALL.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t, "appendonly=yes", "appendfsync=always")
	s := connect(t, own.URL(), "jobs")
	// The list of results is on another server.
	url, prefix := redistest.Shared(t)
	notes := connect(t, url, prefix+"notes")
	c := s.run(redisqueue.ConsumerOptions{Handler: notes.work, HandlerOptions: redisqueue.HandlerOptions{
		Letters: s.deadLetters(redisqueue.DeadLetterOptions{
			Breaker: redisqueue.BreakerConfig{RecoveryTimeout: time.Second}})}})
	const jobs = 900
	for i := range jobs {
		s.push(strconv.Itoa(i))
		if i%300 == 299 {
			if err := own.Restart(); err != nil {
				t.Fatal(err)
			}
			// A client reports a broken connection once.
			_ = s.client.Do(t.Context(), s.client.B().Ping().Build()).Error()
		}
	}
	await.Until(t, "all is done", s.idle)
	done, letters := map[string]bool{}, map[string]bool{}
	for _, job := range notes.list(notes.doneKey()) {
		done[job] = true
	}
	for _, f := range s.letters() {
		letters[string(f.Job)] = true
	}
	for i := range jobs {
		if job := strconv.Itoa(i); done[job] == (i%7 == 0) || letters[job] != (i%7 == 0) {
			t.Errorf("job %s: done %t, dead letter %t", job, done[job], letters[job])
		}
	}
	if err := own.Flush(); err != nil {
		t.Fatal(err)
	}
	s.push("1002", "1008")
	await.Until(t, "what came later is settled", func() bool {
		return s.idle() && len(s.dlq()) == 1 && slices.Contains(notes.list(notes.doneKey()), "1002")
	})
	if st := c.Stats(); st.Held != 0 {
		t.Errorf("%+v", st)
	}
}

package letters

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

// stagesOfConsumers are parts of commands that appear when an application has taken jobs, acknowledged some, or written
// a dead letter.
var stagesOfConsumers = map[string]string{"taken": `"LMOVE" "jobs"`, "acknowledged": `"LREM" "tasker:{jobs}:processing`,
	"dead": `"RPUSH" "dlq:jobs"`}

// app is an application, in successive processes, with its own spool.
type app struct {
	program string
	args    []string
	env     []string
	log     *os.File
	group   *process.Group

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{}
	expect bool
	failed []string // unexpected ends
}

func (a *app) Start(context.Context) error {
	cmd := a.group.Command(a.program, a.args...)
	cmd.Env = append(os.Environ(), a.env...)
	cmd.Stderr = a.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start an application: %w", err)
	}
	ended := make(chan struct{})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cmd, a.ended, a.expect = cmd, ended, false
	go func() {
		err := cmd.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.expect {
			a.failed = append(a.failed, fmt.Sprintf("an application ended unexpectedly: %v", err))
		}
		close(ended)
	}()
	return nil
}

func (a *app) Kill() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expect = true
	_ = a.cmd.Process.Kill() // an error means that it has ended
}

func (a *app) Freeze() { a.signal(syscall.SIGSTOP) }

func (a *app) Thaw() { a.signal(syscall.SIGCONT) }

func (a *app) signal(sig syscall.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.cmd.Process.Signal(sig) // an error means that it has ended
}

func (a *app) Gone() {
	a.mu.Lock()
	ended := a.ended
	a.mu.Unlock()
	<-ended
}

// crowd is the applications of a run and their jobs.
type crowd struct {
	apps []*app
	done string // the file with the numbers of completed jobs

	mu   sync.Mutex
	jobs []message   // number 1 is the first
	dead map[int]int // dead letters that FLUSHALL deleted
}

func (c *crowd) crashes() []string { return crashes(c.apps) }

// crashes returns the unexpected ends of programs.
func crashes(of []*app) []string {
	var all []string
	for _, a := range of {
		a.mu.Lock()
		all = append(all, a.failed...)
		a.mu.Unlock()
	}
	return all
}

// consumers is the run of package redisqueue.
func (r *run) consumers(ctx context.Context) error {
	r.crowd = &crowd{done: filepath.Join(r.dir, "done"), dead: map[int]int{}}
	for i := range 2 {
		log, err := os.Create(filepath.Join(r.dir, fmt.Sprintf("application%d.log", i)))
		if err != nil {
			return err
		}
		defer log.Close()
		a := &app{program: r.options.Application, log: log, group: r.group, env: []string{
			ApplicationVariable + "=" + r.brokers.through(url.Values{}), doneVariable + "=" + r.crowd.done,
			spoolVariable + "=" + filepath.Join(r.dir, fmt.Sprintf("spool%d", i))}}
		r.crowd.apps = append(r.crowd.apps, a)
		if err := a.Start(ctx); err != nil {
			return err
		}
		defer func() {
			a.Kill()
			a.Gone()
		}()
	}
	if err := r.strikes(ctx, func() { r.push(3 * perKill) }); err != nil {
		return err
	}
	for _, a := range r.crowd.apps { // content of memory must not count
		a.Kill()
		a.Gone()
		if err := a.Start(ctx); err != nil {
			return err
		}
	}
	if err := r.until(ctx, r.unfinished); err != nil {
		return err
	}
	return r.checkJobs()
}

func (r *run) push(n int) {
	c := r.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	command := []string{"RPUSH", jobs}
	first := len(c.jobs)
	for range n {
		c.jobs = append(c.jobs, message{at: time.Now()})
		command = append(command, fmt.Sprintf(`{"order":%d}`, len(c.jobs)))
	}
	if _, err := redistest.Do(r.brokers.url(), command...); err == nil {
		for i := first; i < len(c.jobs); i++ {
			c.jobs[i].sure = true
		}
	}
}

func (r *run) flushJobs() error {
	c := r.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, err := redistest.Do(r.brokers.url(), "EVAL", `
local all = redis.call('LRANGE', KEYS[1], 0, -1)
for _, key in ipairs(redis.call('KEYS', 'tasker:{' .. KEYS[1] .. '}:processing:*')) do
  for _, job in ipairs(redis.call('LRANGE', key, 0, -1)) do all[#all + 1] = job end
end
local dead = redis.call('LRANGE', 'dlq:' .. KEYS[1], 0, -1)
redis.call('FLUSHALL')
return {all, dead}`, "1", jobs)
	if err != nil {
		return err
	}
	parts, ok := answer.([]any)
	if !ok || len(parts) != 2 {
		return fmt.Errorf("FLUSHALL is answered %v", answer)
	}
	waiting, _ := parts[0].([]any)
	for _, job := range waiting {
		c.jobs[order(fmt.Sprint(job))-1].lost = true
	}
	letters, _ := parts[1].([]any)
	for _, text := range letters {
		c.dead[order(fmt.Sprint(text))]++
	}
	return nil
}

// unfinished describes unsettled jobs; "" at the end.
func (r *run) unfinished(context.Context) (string, error) {
	answer, err := redistest.Do(r.brokers.url(), "EVAL", `
local n = redis.call('LLEN', KEYS[1])
for _, key in ipairs(redis.call('KEYS', 'tasker:{' .. KEYS[1] .. '}:processing:*')) do
  n = n + redis.call('LLEN', key)
end
return n`, "1", jobs)
	if err != nil {
		return err.Error(), nil
	}
	if n, _ := answer.(int64); n > 0 {
		return fmt.Sprintf("%d jobs are not settled", n), nil
	}
	return "", nil
}

// ends returns how often each job was completed, and how often it is a dead letter.
func (r *run) ends() (done, dead map[int]int, err error) {
	done, dead = map[int]int{}, map[int]int{}
	raw, err := os.ReadFile(r.crowd.done)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	for line := range strings.Lines(string(raw)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, nil, err
		}
		done[n]++
	}
	answer, err := redistest.Do(r.brokers.url(), "LRANGE", redisqueue.DLQName(jobs), "0", "-1")
	if err != nil {
		return nil, nil, err
	}
	letters, _ := answer.([]any)
	for _, text := range letters {
		f, err := redisqueue.ParseJobFailure([]byte(fmt.Sprint(text)))
		if err != nil {
			r.Wrong("damaged", "a dead letter is %q: %v", text, err)
			continue
		}
		dead[order(string(f.Job))]++
	}
	return done, dead, nil
}

func (r *run) checkJobs() error {
	done, dead, err := r.ends()
	if err != nil {
		return err
	}
	c := r.crowd
	for n, times := range c.dead {
		dead[n] += times
	}
	for i, m := range c.jobs {
		n := i + 1
		right, wrong := done[n], dead[n]
		if fate(n, 2) != nil {
			right, wrong = wrong, right
		}
		exposed := r.failover && r.lostIn(m.at)
		switch {
		case wrong > 0:
			r.Wrong("wrong end", "job %d was done %d times and is %d dead letters", n, done[n], dead[n])
		case right == 0 && m.lost:
			r.count("lost by FLUSHALL")
		case right == 0 && m.sure && exposed:
			r.count("lost by a failover")
		case right == 0 && m.sure:
			r.Wrong("lost", "job %d of %v was not done, and is no dead letter", n, m.at.Format("15:04:05.000"))
		case right > 1 && fate(n, 2) != nil:
			r.add("dead letters twice", right-1)
		case right > 1:
			r.add("jobs done again", right-1)
		}
		delete(done, n)
		delete(dead, n)
	}
	if len(done)+len(dead) > 0 {
		r.Wrong("unknown", "jobs that nobody pushed: %v, %v", done, dead)
	}
	r.add("jobs", len(c.jobs))
	return nil
}

// backLimit bounds the time from the end of a master to the next work.
const backLimit = 20 * time.Second

// back waits after a failover until a new message is captured, or a new job completed, and records the time since the
// kill of the master.
func (r *run) back(ctx context.Context, killed time.Time) error {
	if r.crowd == nil {
		r.world.die(perKill)
	} else {
		r.push(perKill)
	}
	err := r.until(ctx, func(ctx context.Context) (string, error) {
		if r.crowd != nil {
			done, _, err := r.ends()
			if n := len(r.crowd.jobs); err == nil && done[n]+done[n-1] > 0 { // both can be dead only if 7 divides both
				return "", nil
			}
			return "jobs are not done after a failover", nil
		}
		letters, err := r.nodes.Letters(ctx, byHand)
		for _, l := range letters {
			if order(string(l.Original.Payload)) > len(r.world.messages)-perKill {
				return "", err
			}
		}
		return "messages are not captured after a failover", err
	})
	if err != nil {
		return err
	}
	took := time.Since(killed)
	if took > backLimit {
		r.Wrong("slow", "%v after the master was killed there was the first letter, or job", took)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = append(r.times, took)
	return nil
}

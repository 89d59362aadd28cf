package dispatchtest

import (
	"sync"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func concurrencyCases() []testCase {
	return []testCase{
		{"NoStepTwice", noStepTwice},
	}
}

const callers = 8

func together(fn func(caller int)) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range callers {
		wg.Go(func() {
			<-begin
			fn(i)
		})
	}
	close(begin)
	wg.Wait()
}

// Many processes offer the same steps, claim them, and end their leases: each step has one holder.
func noStepTwice(f *fixture) {
	const n = 3000
	var all [callers]engine.Dispatcher
	for i := range all {
		all[i] = f.sys.Open(f)
		f.ok(all[i].Check(f.Context()))
	}
	var mu sync.Mutex
	times := map[task.ID]int{}
	var errs []error
	f.offer(steps(1, n)...)
	together(func(i int) {
		for round := range n {
			if round%10 == 0 {
				if err := all[i].Offer(f.Context(), steps(n-10, n)); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
			c := claim(1 + round%7)
			c.Worker = int64(i)
			holds, err := all[i].Claim(f.Context(), []engine.Claim{c, c}, start)
			mu.Lock()
			if err != nil {
				errs = append(errs, err)
			}
			none := len(holds) < 2 || len(holds[0])+len(holds[1]) == 0
			for _, list := range holds {
				for _, h := range list {
					times[h.Step]++
				}
			}
			mu.Unlock()
			if none {
				return
			}
		}
	})
	for _, err := range errs {
		f.Error(err)
	}
	f.same("steps handed out", n, len(times))
	for step, k := range times {
		if k != 1 {
			f.Errorf("step %s was handed out %d times", step, k)
		}
	}
}

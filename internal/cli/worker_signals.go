package cli

import (
	"context"
	"fmt"
	"time"
)

// watchSignals explains the effect of the first signal, closes abort at the second, and the third ends the process
// as usual. stop ends the watch.
func (c *workerCommand) watchSignals(ctx context.Context) (stop func()) {
	if c.s.Interrupts == nil {
		return func() {}
	}
	signals, quit := c.s.Interrupts()
	over, stopped := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer quit()
		for n := range 2 {
			select {
			case <-signals:
			case <-over.Done():
				return
			}
			if n == 0 {
				fmt.Fprintf(c.s.Err, "worker stops; running programs have %s to finish; a second signal kills them\n",
					max(c.drain, 0).Round(time.Millisecond))
			}
		}
		fmt.Fprintln(c.s.Err, "worker kills its programs and releases their steps")
		close(c.abort)
	}()
	return stopped
}

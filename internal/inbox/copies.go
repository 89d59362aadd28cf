package inbox

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
)

// copyTime bounds the copies of one batch.
const copyTime = 2 * time.Second

// copyRetries sends copies of the letters that a batch has sent, where their policies want that. A copy is for those
// who watch: nothing waits for it, and one that fails is forgotten. A destination that does not exist gets none.
func (in *Inbox) copyRetries(ctx context.Context, b *batch, results []result, of policies) {
	sent := map[*deadletter.Letter]bool{}
	for _, r := range results {
		sent[r.letter] = r.letter != nil && r.err == nil
	}
	type way struct {
		source *deadletter.Source
		to     string
	}
	copies := map[way][]Outgoing{}
	for _, o := range b.sending {
		if p := of.of(o.out.Letter); sent[o.out.Letter] && p != nil && p.CopyRetries {
			out := o.out
			out.Copy = true
			to := way{o.source, o.destination + deadletter.CopySuffix}
			copies[to] = append(copies[to], out)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, copyTime)
	defer cancel()
	for to, letters := range copies {
		carrier := in.opts.Carriers[to.source.Driver]
		if exists, err := carrier.Exists(ctx, to.source, to.to); err == nil && exists {
			_ = carrier.Send(ctx, to.source, to.to, letters)
		}
	}
}

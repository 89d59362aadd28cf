package replay

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	previewSamples = 10
	previewScan    = 10_000
	previewParts   = 16
	previewTime    = 5 * time.Second
)

// Preview is the effect of a replay.
type Preview struct {
	Replay          *deadletter.Replay // with the range frozen now; not stored
	Scanned         int
	Selected        int
	Whole           bool         // there are no more
	FirstAt, LastAt task.Instant // of up to previewParts partitions; 0: unknown
	Samples         []Sample
}

// Sample is a selected message, and what it would become.
type Sample struct {
	Partition int32
	Offset    int64
	At        task.Instant
	Key       []byte
	sources.IntakePreview
	Known   bool
	Failure string
}

// PreviewReplay previews a replay and stores nothing. It refuses what CreateReplay refuses.
func (in *Replayer) PreviewReplay(ctx context.Context, req Request) (*Preview, error) {
	if _, err := desk.Signed(ctx, req.By); err != nil {
		return nil, err
	}
	r, source, err := in.frozenReplay(ctx, &req)
	if err != nil {
		return nil, err
	}
	p := &Preview{Replay: r, Whole: true}
	of, carrier := asReplayed(r, source), in.opts.Carriers[source.Driver]
	bounded, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	p.ends(bounded, carrier, of)
	var arrivals []seam.Arrival
	scan := *r
	scan.Progress.Parts = slices.Clone(r.Progress.Parts)
	for i := scan.NextPart(); i >= 0; i = scan.NextPart() {
		if p.Scanned >= previewScan || bounded.Err() != nil {
			p.Whole = false
			break
		}
		part := &scan.Progress.Parts[i]
		entries, next, err := carrier.ReadLog(bounded, of, r.Spec.Topic, *part, replayBatch)
		if err != nil && !seam.IsGone(err) {
			if ctx.Err() == nil && bounded.Err() != nil && p.Scanned > 0 {
				p.Whole = false
				break
			}
			if errors.Is(err, seam.ErrForGood) {
				return nil, desk.Invalid("the replay would be refused", "/topic", desk.ItemMessage(err))
			}
			return nil, brokerSilent(err)
		}
		p.Scanned += len(entries)
		for _, e := range entries {
			if !r.Spec.Selects(e.Key, e.Headers) {
				continue
			}
			if p.Selected++; len(p.Samples) < previewSamples {
				list, _ := selected(r, source, []seam.LogEntry{e}, 0, 1)
				arrivals = append(arrivals, list...)
				p.Samples = append(p.Samples, Sample{Partition: part.Partition, Offset: e.Offset, At: e.At, Key: e.Key,
					Failure: list[0].Failure.Type})
			}
		}
		part.Next = next
	}
	return p, in.sampled(ctx, of, r, arrivals, p.Samples)
}

func (p *Preview) ends(ctx context.Context, c seam.Carrier, of *deadletter.Source) {
	parts := p.Replay.Progress.Parts
	for _, part := range parts[:min(len(parts), previewParts)] {
		last := part
		last.Next = part.To - 1
		for _, at := range []model.ReplayPart{part, last} {
			entries, _, _ := c.ReadLog(ctx, of, p.Replay.Spec.Topic, at, 1)
			if len(entries) == 0 || entries[0].At == 0 {
				continue
			}
			if p.FirstAt == 0 || entries[0].At < p.FirstAt {
				p.FirstAt = entries[0].At
			}
			p.LastAt = max(p.LastAt, entries[0].At)
		}
	}
}

func (in *Replayer) sampled(ctx context.Context, of *deadletter.Source, r *deadletter.Replay, arrivals []seam.Arrival,
	samples []Sample,
) error {
	if len(arrivals) == 0 {
		return nil
	}
	if of.Intake != nil {
		b := in.capture.TakeIn(of, intake.NewPlan(of), arrivals)
		repeatedAs(r.Spec.Repeat, b.Orders)
		for i, p := range in.capture.Previewed(ctx, b) {
			samples[i].IntakePreview = p
		}
		return nil
	}
	identities := make([]string, len(arrivals))
	for i := range arrivals {
		identities[i] = in.capture.Identify(of, &arrivals[i])
	}
	return in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		found, err := in.store.Identified(ctx, tx, of.Namespace, of.Name, identities)
		for i, identity := range identities {
			samples[i].Known = found[identity] != nil
		}
		return err
	})
}

package capture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// journal has the captured messages of a source without positions until the broker has their acknowledgement. A
// redelivered message is a duplicate only if the journal has it: neither its ID nor its content proves that.
//
// A receiver gets the next batch after the acknowledgement of the one before, so the journal has the latest batch, and
// the latest ones of receivers that have ended.
type journal struct {
	Receiver string
	Batch    string
	EndedAt  task.Instant // when left grew last
	now      []journalEntry
	left     []journalEntry // perhaps not acknowledged, of ended receivers
}

type journalEntry struct {
	Message [16]byte
	Letter  task.ID
	Group   int64
}

func (e journalEntry) receipt() Receipt {
	return Receipt{Letter: e.Letter, Group: deadletter.GroupID(e.Group), Status: model.Duplicate}
}

// journalFor is how long a journal keeps an ended receiver: a broker redelivers soon.
const journalFor = 10 * time.Minute

func journaled(a *seam.Arrival) bool { return a.Position == "" && a.Receiver != "" }

func (in *Capturer) openJournal(ctx context.Context, tx engine.Tx, of *deadletter.Source, receiver string,
	now task.Instant,
) (*journal, error) {
	packed, err := in.store.Journal(ctx, tx, of.Namespace, of.Name)
	if err != nil {
		return nil, err
	}
	j, err := unpackJournal(packed)
	if err != nil {
		return nil, fmt.Errorf("the journal of the source %s: %w", of.Name, err)
	}
	if j.Receiver != receiver && len(j.now) > 0 {
		j.left, j.now, j.EndedAt = append(j.left, j.now...), nil, now
	}
	if now.Sub(j.EndedAt) > journalFor {
		j.left = nil
	}
	return j, nil
}

// stored reports whether the journal's latest batch is this one: the answer to its commit was lost.
func (j *journal) stored(receiver, batch string) bool {
	return j.Receiver == receiver && j.Batch == batch
}

// redelivered returns the result of a redelivered message and forgets it: n deliveries match n. A nil journal has none.
func (j *journal) redelivered(a *seam.Arrival) (journalEntry, bool) {
	if j == nil || !a.Redelivered || len(j.left) == 0 {
		return journalEntry{}, false
	}
	hash := deliveryOf(a)
	i := slices.IndexFunc(j.left, func(e journalEntry) bool { return e.Message == hash })
	if i < 0 {
		return journalEntry{}, false
	}
	e := j.left[i]
	j.left = slices.Delete(j.left, i, i+1)
	return e, true
}

func (in *Capturer) saveJournal(ctx context.Context, tx engine.Tx, of *deadletter.Source, j *journal) error {
	packed, err := j.pack()
	if err != nil {
		return err
	}
	return in.store.SaveJournal(ctx, tx, of.Namespace, of.Name, packed)
}

func (j *journal) pack() ([]byte, error) {
	line, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint32(append(line, '\n'), uint32(len(j.now)))
	return binary.Append(out, binary.BigEndian, slices.Concat(j.now, j.left))
}

func unpackJournal(packed []byte) (*journal, error) {
	j := &journal{}
	if len(packed) == 0 {
		return j, nil
	}
	line, rest, ok := bytes.Cut(packed, []byte{'\n'})
	if err := json.Unmarshal(line, j); err != nil {
		return nil, err
	}
	size := binary.Size(journalEntry{})
	if !ok || len(rest) < 4 || (len(rest)-4)%size != 0 {
		return nil, fmt.Errorf("it has %d bytes, and is damaged", len(packed))
	}
	all := make([]journalEntry, (len(rest)-4)/size)
	if _, err := binary.Decode(rest[4:], binary.BigEndian, all); err != nil {
		return nil, err
	}
	n := min(int(binary.BigEndian.Uint32(rest)), len(all))
	j.now, j.left = all[:n:n], all[n:]
	return j, nil
}

// deliveryOf hashes all that a broker keeps from delivery to delivery.
func deliveryOf(a *seam.Arrival) [16]byte {
	content := a.Content
	content.Headers = slices.DeleteFunc(slices.Clone(content.Headers), func(h deadletter.Header) bool {
		return strings.HasPrefix(h.Name, "x-delivery-count") || strings.HasPrefix(h.Name, "x-acquired-count")
	})
	h := sha256.New()
	fmt.Fprintf(h, "%s %d:%s %s %d", deadletter.Identify("", "", content), len(a.MessageID), a.MessageID, a.Letter,
		a.Replays)
	return [16]byte(h.Sum(nil)[:16])
}

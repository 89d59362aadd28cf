package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redislist"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/kit/spool"
)

const (
	lettersAtOnce = 200
	letterBytes   = 4 << 20
	// drainPause is the time between two tries to empty the spool.
	drainPause = time.Second
	// DefaultBreakerName is the name of the breaker around writes of dead letters.
	DefaultBreakerName = "dlq_overflow"
)

// ErrSpoolFull means: a dead letter could not be written, and the spool has no space. The caller must not acknowledge
// the job.
var ErrSpoolFull = errors.New("the dead letter could be stored neither in Redis nor in the spool, which is full")

var errDLQFull = errors.New("the list of dead letters is full")

// DeadLetterOptions are the settings of DeadLetters.
type DeadLetterOptions struct {
	// Client reaches the server; it stays the caller's. Required.
	Client rueidis.Client
	// Dir is the directory of the spool. It is created if missing, and belongs to one process. It should be on a disk
	// that outlives the process, so that waiting letters are found after a restart elsewhere. Required.
	Dir string
	// MaxSpoolBytes bounds the waiting letters in the spool; the files take up to 4 MiB more. Defaults to 256 MiB.
	MaxSpoolBytes int64
	// MaxLength bounds the letters of one list: a full list is a failed write. 0: no limit.
	MaxLength int64
	// Timeout bounds a write to Redis. 10ms to 1m. Defaults to 2s.
	Timeout time.Duration
	// Breaker are the settings of the breaker around the writes.
	Breaker BreakerConfig
	// Registry gets the breaker, under BreakerName. Defaults to a new one.
	Registry *BreakerRegistry
	// BreakerName is the name of the breaker. Defaults to DefaultBreakerName.
	BreakerName string
	// Clock is the time; nil is the machine's.
	Clock Clock
	// Logger logs letters that go to the spool or are sent on, and each damaged record. Defaults to silence.
	Logger *slog.Logger
}

func (o *DeadLetterOptions) setDefaults() error {
	if o.Client == nil || o.Dir == "" {
		return errors.New("DeadLetterOptions needs Client and Dir")
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Timeout < 10*time.Millisecond || o.Timeout > time.Minute {
		return fmt.Errorf("DeadLetterOptions.Timeout must be 10ms to 1m, not %v", o.Timeout)
	}
	if o.MaxLength < 0 || o.MaxSpoolBytes < 0 {
		return errors.New("DeadLetterOptions.MaxLength and MaxSpoolBytes must not be negative")
	}
	if o.Registry == nil {
		o.Registry = &BreakerRegistry{}
	}
	if o.BreakerName == "" {
		o.BreakerName = DefaultBreakerName
	}
	if o.Clock == nil {
		o.Clock = systemClock
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// DeadLetters writes dead letters to their lists in order, and keeps those that cannot be written now in files. It is
// safe for concurrent use; a process has one for each server.
type DeadLetters struct {
	o       DeadLetterOptions
	breaker *Breaker
	spool   *spool.Spool
	script  *rueidis.Lua
	writes  *coalesce.Group[*letter, outcome]

	// order is held while letters are sent or go to the spool: none overtakes another one.
	order  sync.Mutex
	writer string
	number uint64

	written, spooled, superseded atomic.Int64
	// observers learn which of their jobs left the spool: func(job []byte) by the ID of a consumer.
	observers sync.Map
}

type outcome int

const (
	stored     outcome = iota // it is in its list
	inSpool                   // it is in the spool
	superseded                // its job was moved back to the queue, where it runs again
	refused                   // neither
)

// OpenDeadLetters opens and logs the spool. It connects to nothing. Run, Drain, and the next Write send waiting
// letters. The caller closes it after its users.
func OpenDeadLetters(o DeadLetterOptions) (*DeadLetters, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	script, err := loadScript("letter")
	if err != nil {
		return nil, err
	}
	breaker, err := o.Registry.GetOrCreate(o.BreakerName, o.Breaker, o.Clock)
	if err != nil {
		return nil, err
	}
	s, found, err := spool.Open(o.Dir, spool.Options{MaxBytes: o.MaxSpoolBytes})
	if err != nil {
		return nil, err
	}
	found.Log(o.Logger, o.Dir)
	d := &DeadLetters{o: o, breaker: breaker, spool: s, script: script, writer: redislist.NewID()}
	d.writes = coalesce.New(lettersAtOnce, 1, d.writeSome)
	return d, nil
}

// Write stores a dead letter: in its list or, while that is not possible, in the spool. It returns nil when the letter
// is durable, as far as Redis is configured to be, or on disk. It blocks for a write to Redis, at most Timeout, and a
// sync of the disk. Letters of concurrent callers share both.
//
// After ErrSpoolFull the letter is nowhere: the caller keeps the job. When ctx ends before the write begins, Write
// returns its error.
func (d *DeadLetters) Write(ctx context.Context, f JobFailure) error {
	if err := redislist.CheckKeys(d.o.Client, f.Queue); err != nil {
		return err
	}
	_, err := d.write(ctx, &letter{queue: f.Queue, job: f.Job, body: f.Encode()})
	return err
}

func (d *DeadLetters) write(ctx context.Context, l *letter) (outcome, error) {
	out, err := d.writes.Do(ctx, l)
	switch {
	case err != nil:
		return refused, err
	case out == refused:
		return refused, ErrSpoolFull
	}
	return out, nil
}

// writeSome stores letters; calls must not be concurrent.
func (d *DeadLetters) writeSome(letters []*letter) ([]outcome, error) {
	d.order.Lock()
	defer d.order.Unlock()
	// Numbers follow the order of sending.
	for _, l := range letters {
		d.number++
		l.writer, l.number = d.writer, d.number
	}
	// Waiting letters go first, one piece at a time, so that callers do not wait for all.
	if d.spool.Stats().Records > 0 {
		if err := d.drainSome(); err != nil && !errors.Is(err, errRejected) {
			d.o.Logger.Warn("dead letters wait in the spool", "error", err)
		}
	}
	outcomes := make([]outcome, len(letters))
	rest := letters
	if d.spool.Stats().Records == 0 {
		n, err := d.send(letters, outcomes)
		if rest = letters[n:]; err == nil {
			return outcomes, nil
		}
		if !errors.Is(err, errRejected) {
			d.o.Logger.Error("dead letters cannot be written to Redis and go to the spool", "letters", len(rest), "error", err)
		}
	}
	return outcomes, d.keep(rest, outcomes[len(letters)-len(rest):])
}

// keep puts as many letters into the spool as fit.
func (d *DeadLetters) keep(letters []*letter, outcomes []outcome) error {
	records := make([][]byte, len(letters))
	for i, l := range letters {
		records[i] = l.encode()
	}
	// A letter that was sent without an answer must not wait behind a gap: all of them, or else one by one from the
	// first.
	err := d.spool.Append(context.Background(), records...)
	kept := len(letters)
	if err != nil {
		for kept = 0; kept < len(letters); kept++ {
			if err = d.spool.Append(context.Background(), records[kept]); err != nil {
				break
			}
		}
	}
	for i := range letters {
		outcomes[i] = inSpool
		if i >= kept {
			outcomes[i] = refused
		}
	}
	d.spooled.Add(int64(kept))
	var full *spool.FullError
	if err != nil {
		d.o.Logger.Error("the spool takes no dead letters; their jobs stay unacknowledged",
			"letters", len(letters)-kept, "error", err)
	}
	if err != nil && !errors.As(err, &full) && !errors.Is(err, spool.ErrTooLarge) && kept == 0 {
		return err
	}
	return nil
}

// Drain sends the letters of the spool to their lists in order, and returns how many it sent. It stops with the error
// of the first that cannot be sent, and returns immediately while the breaker is open.
func (d *DeadLetters) Drain(ctx context.Context) (sent int, err error) {
	for ctx.Err() == nil {
		d.order.Lock()
		before := d.spool.Stats().Records
		if before > 0 {
			err = d.drainSome()
		}
		sent += before - d.spool.Stats().Records
		d.order.Unlock()
		if before == 0 || err != nil {
			return sent, err
		}
	}
	return sent, ctx.Err()
}

// Run sends waiting letters of the spool as soon as possible until ctx ends; then it returns nil. Consumers call it; an
// application without a consumer must. Concurrent calls are allowed.
func (d *DeadLetters) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		sent, err := d.Drain(ctx)
		if sent > 0 {
			d.o.Logger.Info("dead letters were sent on from the spool", "letters", sent,
				"waiting", d.spool.Stats().Records)
		}
		if err != nil && !errors.Is(err, errRejected) && ctx.Err() == nil {
			d.o.Logger.Warn("dead letters wait in the spool", "error", err)
		}
		_ = d.o.Clock.Sleep(ctx, drainPause) // its error ends the loop
	}
	return nil
}

// drainSome sends the oldest letters of the spool; the caller holds order.
func (d *DeadLetters) drainSome() error {
	if d.breaker.Status().State == BreakerOpen {
		return errRejected // before files are read
	}
	records, err := d.spool.Read(lettersAtOnce, letterBytes)
	if err != nil || len(records) == 0 {
		return err
	}
	letters := make([]*letter, 0, len(records))
	for _, r := range records {
		l, err := decodeLetter(r)
		if err != nil {
			break // earlier ones are sent; then it is the first
		}
		letters = append(letters, l)
	}
	if len(letters) == 0 {
		// Its checksum is right, so another version of the program wrote it: nothing behind it may overtake it.
		_, err := decodeLetter(records[0])
		return err
	}
	outcomes := make([]outcome, len(letters))
	n, err := d.send(letters, outcomes)
	if doneErr := d.spool.Done(n); doneErr != nil {
		return errors.Join(err, doneErr)
	}
	for _, l := range letters[:n] {
		if f, ok := d.observers.Load(l.consumer); ok && l.consumer != "" {
			f.(func([]byte))(l.job)
		}
	}
	return err
}

// DeadLetterStatus is the state of DeadLetters. Counts begin with its opening.
type DeadLetterStatus struct {
	Breaker BreakerStatus `json:"breaker"`
	// SpoolLetters and SpoolBytes wait in the spool, which takes SpoolLimit bytes.
	SpoolLetters int   `json:"spool_letters"`
	SpoolBytes   int64 `json:"spool_bytes"`
	SpoolLimit   int64 `json:"spool_limit"`
	Written      int64 `json:"written"` // to their lists
	Spooled      int64 `json:"spooled"` // to the spool first
	// Superseded letters were not written, because another consumer had taken their jobs over.
	Superseded int64 `json:"superseded"`
	// Damaged counts pieces of the spool that were set aside.
	Damaged int `json:"damaged"`
}

// Status does not ask a server.
func (d *DeadLetters) Status() DeadLetterStatus {
	s := d.spool.Stats()
	return DeadLetterStatus{Breaker: d.breaker.Status(), SpoolLetters: s.Records, SpoolBytes: s.Bytes,
		SpoolLimit: s.Limit, Written: d.written.Load(), Spooled: d.spooled.Load(), Superseded: d.superseded.Load(),
		Damaged: len(s.Damaged)}
}

// Breaker returns the breaker around the writes.
func (d *DeadLetters) Breaker() *Breaker { return d.breaker }

// Close stops using the spool; waiting letters stay. Writes fail then. A second call does nothing.
func (d *DeadLetters) Close() error {
	d.order.Lock()
	defer d.order.Unlock()
	return d.spool.Close()
}

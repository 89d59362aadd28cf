package kafka

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/kit/spool"
)

const (
	// DefaultTopic is the topic of dead letters.
	DefaultTopic = "dead_letter_queue"
	// maxRecord bounds a record here; brokers have their own bounds, 1 MiB by default.
	maxRecord  = 64 << 20
	drainPause = time.Second
	// bounds of one read of the spool
	lettersAtOnce, letterBytes = 200, 4 << 20
	// aside is the directory in the spool for letters that Kafka refuses permanently.
	aside = "refused"
)

// ErrSpoolFull means: neither Kafka nor the spool takes a dead letter. The offset must not be committed.
var ErrSpoolFull = errors.New("the dead letter could be stored neither in Kafka nor in the spool, which is full")

// DeadLetterOptions are the settings of DeadLetters.
type DeadLetterOptions struct {
	// Kafka configures the access to the brokers: kgo.SeedBrokers, TLS, SASL. Required. Options of producing are set
	// after them.
	Kafka []kgo.Opt
	// Topic of dead letters; it must exist. Defaults to DefaultTopic.
	Topic string
	// Dir is the directory of the spool. It is created if missing, and belongs to one process. It should be on a disk
	// that outlives the process, so that waiting letters are found after a restart elsewhere. Required.
	Dir string
	// MaxSpoolBytes bounds the waiting letters in the spool; the files take up to 4 MiB more. Defaults to 256 MiB.
	MaxSpoolBytes int64
	// Timeout bounds the wait for Kafka. 1s to 5m. Defaults to 10s.
	Timeout time.Duration
	// ProducerID names the process in its letters. Defaults to the name of the host.
	ProducerID string
	// Now is the time. Defaults to time.Now.
	Now func() time.Time
	// Logger logs letters that go to the spool, are sent on, or are refused. Defaults to silence.
	Logger *slog.Logger
}

func (o *DeadLetterOptions) setDefaults() error {
	if len(o.Kafka) == 0 || o.Dir == "" {
		return errors.New("DeadLetterOptions needs Kafka and Dir")
	}
	o.Topic = cmp.Or(o.Topic, DefaultTopic)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Timeout < time.Second || o.Timeout > 5*time.Minute {
		return fmt.Errorf("DeadLetterOptions.Timeout must be 1s to 5m, not %v", o.Timeout)
	}
	if o.MaxSpoolBytes < 0 {
		return errors.New("DeadLetterOptions.MaxSpoolBytes must not be negative")
	}
	if o.ProducerID == "" {
		o.ProducerID, _ = os.Hostname() // a letter without it is fine
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// DeadLetters sends dead letters to their topic, and keeps those that Kafka does not take in files. It is safe for
// concurrent use; a process has one.
type DeadLetters struct {
	o      DeadLetterOptions
	client *kgo.Client
	spool  *spool.Spool

	// draining is held by the one goroutine that reads the spool.
	draining              sync.Mutex
	sent, spooled, denied atomic.Int64
}

// OpenDeadLetters opens and logs the spool. It connects to nothing. Run sends waiting letters. The caller closes it
// after its users.
func OpenDeadLetters(o DeadLetterOptions) (*DeadLetters, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, o.Kafka...),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchMaxBytes(maxRecord),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		// Messages without an answer in time go to the spool and are sent again: twice is better than never.
		kgo.AllowIdempotentProduceCancellation(), kgo.RecordDeliveryTimeout(o.Timeout),
		kgo.ProduceRequestTimeout(o.Timeout))...)
	if err != nil {
		return nil, fmt.Errorf("open dead letters: %w", err)
	}
	s, found, err := spool.Open(o.Dir, spool.Options{MaxBytes: o.MaxSpoolBytes})
	if err != nil {
		client.Close()
		return nil, err
	}
	found.Log(o.Logger, o.Dir)
	return &DeadLetters{o: o, client: client, spool: s}, nil
}

// SendToDLQ stores an event that failed for good: in the dead letter topic or, while Kafka does not take it, in the
// spool. topic is the event's origin, "" for event.Topic, and retryCount the number of repetitions. The event is not
// changed.
//
// It returns nil when the letter is durable: confirmed by all in-sync replicas, or on disk. Only then the caller may
// commit the offset of the event. It blocks for Kafka, at most Timeout, and for a sync of the disk. While letters wait
// in the spool, others join them there without a try.
//
// After ErrSpoolFull the letter is nowhere, as is an event too large for the topic of dead letters: raise
// max.message.bytes of that topic above that of the topics of events by 64 KiB, and call again. When ctx ends before
// the letter is sent, it goes to the spool.
func (d *DeadLetters) SendToDLQ(ctx context.Context, event *kgo.Record, topic string, err error, retryCount int) error {
	if topic == "" {
		topic = event.Topic
	}
	f := failed{event: event, topic: topic, err: err, retries: retryCount, at: d.o.Now(), producer: d.o.ProducerID}
	letter := f.letter(d.o.Topic)
	if d.spool.Stats().Records == 0 {
		err := d.produce(ctx, letter)[0]
		if err == nil {
			d.sent.Add(1)
			return nil
		}
		if permanent(err) {
			return fmt.Errorf("send a dead letter to %s: %w", d.o.Topic, err)
		}
		d.o.Logger.Error("Kafka does not take a dead letter; it goes to the spool",
			"topic", d.o.Topic, "event_id", f.id(), "error", err)
	}
	return d.keep(ctx, letter)
}

func (d *DeadLetters) keep(ctx context.Context, letter *kgo.Record) error {
	record, err := encode(letter)
	if err == nil {
		err = d.spool.Append(context.WithoutCancel(ctx), record)
	}
	var full *spool.FullError
	if errors.As(err, &full) {
		return fmt.Errorf("%w (%d of %d bytes)", ErrSpoolFull, full.Bytes, full.Limit)
	}
	if err != nil {
		return fmt.Errorf("write a dead letter to the spool: %w", err)
	}
	d.spooled.Add(1)
	return nil
}

// produce sends letters; nil: confirmed. Letters without an answer may have arrived.
func (d *DeadLetters) produce(ctx context.Context, letters ...*kgo.Record) []error {
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	errs := make([]error, len(letters))
	var wait sync.WaitGroup
	wait.Add(len(letters))
	for i, letter := range letters {
		letter.Context = nil // a record keeps that of an earlier try
		d.client.Produce(ctx, letter, func(_ *kgo.Record, err error) {
			errs[i] = err
			wait.Done()
		})
	}
	wait.Wait()
	return errs
}

// permanent reports whether a letter can never be sent unchanged after err.
func permanent(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) ||
		errors.Is(err, kerr.InvalidRecord)
}

// Run sends waiting letters of the spool as soon as possible until ctx ends; then it returns nil. A Consumer calls it;
// an application without one must. Concurrent calls are allowed.
func (d *DeadLetters) Run(ctx context.Context) error {
	waiting := false
	for ctx.Err() == nil {
		sent, err := d.Drain(ctx)
		if sent > 0 {
			d.o.Logger.Info("dead letters were sent on from the spool", "letters", sent,
				"waiting", d.spool.Stats().Records)
		}
		if err != nil && !waiting && ctx.Err() == nil {
			d.o.Logger.Warn("dead letters wait in the spool", "error", err)
		}
		waiting = err != nil
		_ = clock.Sleep(ctx, drainPause) // its error ends the loop
	}
	return nil
}

// Drain sends the letters of the spool in order, and returns how many it sent. It stops with the error of the first
// that Kafka does not take now. A letter that Kafka refuses permanently as too large moves to a file in the directory
// "refused" of the spool.
func (d *DeadLetters) Drain(ctx context.Context) (sent int, err error) {
	d.draining.Lock()
	defer d.draining.Unlock()
	for ctx.Err() == nil {
		records, err := d.spool.Read(lettersAtOnce, letterBytes)
		if err != nil || len(records) == 0 {
			return sent, err
		}
		n, err := d.sendOn(ctx, records)
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, ctx.Err()
}

func (d *DeadLetters) sendOn(ctx context.Context, records [][]byte) (sent int, err error) {
	letters := make([]*kgo.Record, 0, len(records))
	for _, r := range records {
		letter, decodeErr := decode(r)
		if decodeErr != nil {
			// Its checksum is right, so another version of the program wrote it: nothing behind it may overtake it.
			err = decodeErr
			break
		}
		letters = append(letters, letter)
	}
	done := 0
	for i, failure := range d.produce(ctx, letters...) {
		if failure != nil && permanent(failure) && len(letters) > 1 {
			failure = d.produce(ctx, letters[i])[0] // a broker refuses a batch as a whole
		}
		if failure != nil && permanent(failure) {
			failure = d.setAside(records[i], failure)
		} else if failure == nil {
			sent++
		}
		if failure != nil {
			err = failure
			break
		}
		done++
	}
	d.sent.Add(int64(sent))
	return sent, errors.Join(err, d.spool.Done(done))
}

func (d *DeadLetters) setAside(record []byte, why error) error {
	dir := filepath.Join(d.o.Dir, aside)
	err := os.MkdirAll(dir, 0o700)
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(dir, "*.json")
	}
	if err == nil {
		_, err = f.Write(record)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("set a dead letter aside: %w", err)
	}
	d.denied.Add(1)
	d.o.Logger.Error("Kafka refuses a dead letter; it was set aside", "file", f.Name(), "error", why)
	return nil
}

// DeadLetterStatus is the state of DeadLetters. Counts begin with its opening.
type DeadLetterStatus struct {
	// SpoolLetters and SpoolBytes wait in the spool, which takes SpoolLimit bytes.
	SpoolLetters int   `json:"spool_letters"`
	SpoolBytes   int64 `json:"spool_bytes"`
	SpoolLimit   int64 `json:"spool_limit"`
	Sent         int64 `json:"sent"`    // to the topic
	Spooled      int64 `json:"spooled"` // to the spool first
	Refused      int64 `json:"refused"` // permanently by Kafka; set aside
	// Damaged counts pieces of the spool that were set aside.
	Damaged int `json:"damaged"`
}

// Status does not ask a broker.
func (d *DeadLetters) Status() DeadLetterStatus {
	s := d.spool.Stats()
	return DeadLetterStatus{SpoolLetters: s.Records, SpoolBytes: s.Bytes, SpoolLimit: s.Limit, Sent: d.sent.Load(),
		Spooled: d.spooled.Load(), Refused: d.denied.Load(), Damaged: len(s.Damaged)}
}

// Close stops using the spool; waiting letters stay. A second call does nothing.
func (d *DeadLetters) Close() error {
	d.client.Close()
	return d.spool.Close()
}

// spooledLetter is a letter in the spool. A nil Key or Value is null, which is not "".
type spooledLetter struct {
	Topic   string             `json:"topic"`
	Key     []byte             `json:"key"`
	Value   []byte             `json:"value"`
	Headers []kgo.RecordHeader `json:"headers"`
}

func encode(r *kgo.Record) ([]byte, error) {
	return json.Marshal(spooledLetter{r.Topic, r.Key, r.Value, r.Headers})
}

func decode(b []byte) (*kgo.Record, error) {
	var l spooledLetter
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, fmt.Errorf("a record of the spool is no dead letter of this version of the program: %w", err)
	}
	return &kgo.Record{Topic: l.Topic, Key: l.Key, Value: l.Value, Headers: l.Headers}, nil
}

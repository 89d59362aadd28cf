package kafka_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// refuser is a proxy that answers produce requests itself, once for each of the answers.
type refuser struct {
	url string

	mu      sync.Mutex
	answers []answer
	repeat  bool // the last answer repeats without end
	asked   int
}

// answer is what a refuser says.
type answer struct {
	code   *kerr.Error // nil: the connection ends
	stores bool        // the broker gets the request too
}

// newRefuser starts one before its own broker.
func newRefuser(t *testing.T) (*refuser, *kafkatest.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	r := &refuser{url: "kafka://" + l.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { r.carry(c, fmt.Sprintf("127.0.0.1:%d", port)) })
		}
	})
	s := kafkatest.Start(t, nil, kafkatest.Listener{Name: "PROXIED", Protocol: "PLAINTEXT", Port: port,
		Advertised: l.Addr().String()})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait() // the clients are closed already
	})
	return r, s
}

func (r *refuser) say(repeat bool, answers ...answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers, r.repeat, r.asked = answers, repeat, 0
}

// requests counts produce requests since the answers were set.
func (r *refuser) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// next returns the answer to a produce request.
func (r *refuser) next() (a answer, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if len(r.answers) == 0 {
		return a, false
	}
	a = r.answers[0]
	if len(r.answers) > 1 || !r.repeat {
		r.answers = r.answers[1:]
	}
	return a, true
}

// carry serves a client's connection.
func (r *refuser) carry(client net.Conn, to string) {
	defer client.Close()
	broker, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer broker.Close()
	var down sync.WaitGroup
	down.Go(func() {
		defer client.Close()
		for {
			frame, err := readFrame(broker)
			if err != nil {
				return
			}
			if _, err := client.Write(frame); err != nil {
				return
			}
		}
	})
	defer down.Wait()
	defer broker.Close()
	for {
		frame, err := readFrame(client)
		if err != nil {
			return
		}
		of, refused := answer{}, false
		if kmsg.Key(binary.BigEndian.Uint16(frame[4:])) == kmsg.Produce {
			of, refused = r.next()
		}
		if !refused || of.stores {
			if _, err := broker.Write(frame); err != nil {
				return
			}
		}
		if !refused {
			continue
		}
		if of.code == nil {
			return
		}
		if _, err := client.Write(refusal(frame, of.code.Code)); err != nil {
			return
		}
	}
}

func readFrame(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	frame := append(size[:], make([]byte, binary.BigEndian.Uint32(size[:]))...)
	_, err := io.ReadFull(from, frame[4:])
	return frame, err
}

// refusal answers a produce request with an error for each partition.
func refusal(frame []byte, code int16) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(int16(binary.BigEndian.Uint16(frame[6:])))
	body := frame[12:]
	body = body[2+max(0, int(int16(binary.BigEndian.Uint16(body)))):] // the ID of the client
	head := frame[8:12:12]                                            // the ID of the request
	if req.IsFlexible() {
		body, head = body[1:], append(head, 0) // no tags
	}
	if err := req.ReadFrom(body); err != nil {
		panic(err)
	}
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		st := kmsg.NewProduceResponseTopic()
		st.Topic, st.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			sp := kmsg.NewProduceResponseTopicPartition()
			sp.Partition, sp.ErrorCode, sp.BaseOffset = p.Partition, code, -1
			st.Partitions = append(st.Partitions, sp)
		}
		resp.Topics = append(resp.Topics, st)
	}
	text := resp.AppendTo(head)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// The broker's last answer decides: a message is uncertain only if a try before had no answer.
func TestRefusedForAMoment(t *testing.T) {
	r, s := newRefuser(t)
	refused := answer{code: kerr.NotEnoughReplicas}
	for name, c := range map[string]struct {
		answers []answer
		repeat  bool
		want    error // nil: a transient error; errSent: none
		each    time.Duration
		stored  int
	}{
		"TooFewReplicas": {answers: []answer{refused}, repeat: true},
		"NotLeader":      {answers: []answer{{code: kerr.NotLeaderForPartition}}, repeat: true},
		"Storage":        {answers: []answer{{code: kerr.KafkaStorageError}}, repeat: true},
		"OnlyOnce":       {answers: []answer{refused}, want: errSent, stored: 20},
		"CutOnce":        {answers: []answer{{stores: true}}, want: errSent, stored: 20},
		"Forbidden": {answers: []answer{{code: kerr.TopicAuthorizationFailed}}, repeat: true,
			want: driver.ErrRefused},
		"AfterAppend": {answers: []answer{{code: kerr.NotEnoughReplicasAfterAppend, stores: true},
			{code: kerr.NotEnoughReplicasAfterAppend}}, repeat: true, want: driver.ErrUncertain, each: time.Second, stored: 20},
		"TimedOut": {answers: []answer{{code: kerr.RequestTimedOut}}, repeat: true, want: driver.ErrUncertain,
			each: time.Second},
		"CutThenRefused": {answers: []answer{{stores: true}, refused}, repeat: true, want: driver.ErrUncertain,
			stored: 20},
	} {
		t.Run(name, func(t *testing.T) {
			topic := kafkatest.NewTopic(t, s.URL(), 1)
			d := open(t, r.url)
			send(t, d, topic, numbered(1)...)
			r.say(c.repeat, c.answers...)
			began := time.Now()
			errs := d.Send(t.Context(), topic, numbered(20), driver.Limits{Each: c.each})
			t.Logf("%d requests in %v: %v", r.requests(), time.Since(began).Round(time.Millisecond), errs[0])
			r.say(false)
			for i, err := range errs {
				switch {
				case c.want == errSent && err != nil, c.want != nil && c.want != errSent && !errors.Is(err, c.want),
					c.want == nil && (err == nil || driver.Permanent(err) || errors.Is(err, driver.ErrUncertain) ||
						errors.Is(err, driver.ErrUntried)):
					t.Fatalf("message %d: %v, want %v", i+1, err, c.want)
				}
			}
			brokertest.Receive(t, receiver(t, open(t, s.URL()), topic), 1+c.stored)
			depth(t, d, topic, int64(1+c.stored))
		})
	}
}

// errSent marks a sent message.
var errSent = errors.New("sent")

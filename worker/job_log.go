package worker

import (
	"io"
	"log/slog"
	"sync"

	"github.com/taskerhq/tasker/worker/protocol"
)

type jobLog struct {
	mu    sync.Mutex
	limit int
	tail  []byte
	all   int64
}

const maxJobLog = 64 << 10

func (l *jobLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all += int64(len(p))
	if l.limit <= 0 {
		return len(p), nil
	}
	l.tail = append(l.tail, p[max(len(p)-l.limit, 0):]...)
	if len(l.tail) > 2*l.limit { // only now and then: a handler may write much in small pieces
		l.cut()
	}
	return len(p), nil
}

func (l *jobLog) cut() {
	if extra := len(l.tail) - l.limit; extra > 0 {
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
}

// addTo puts the log into a result. The server cuts it at a whole character.
func (l *jobLog) addTo(r *protocol.StepResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut()
	if len(l.tail) > 0 {
		r.Log, r.LogBytes = cut(string(l.tail), l.limit), l.all
	}
}

// Log returns the log of the attempt, which operators can read. The server keeps its end, by default 64 KiB, for the
// last ten attempts of a step. It is sent with the result, so a killed worker loses it. Keep secrets out: sensitive
// fields are not masked in it. Writes never fail and are safe for concurrent use.
func (j *Job) Log() io.Writer {
	if l := j.log.Load(); l != nil {
		return l
	}
	l := &jobLog{limit: maxJobLog}
	if j.session != nil {
		l.limit = j.maxLog
	}
	j.log.CompareAndSwap(nil, l) // two goroutines may be the first ones
	return j.log.Load()
}

// Logger returns a logger that writes to Log, as text.
func (j *Job) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(j.Log(), nil)) }

func (j *Job) addLog(r *protocol.StepResult) {
	if l := j.log.Load(); l != nil {
		l.addTo(r)
	}
}

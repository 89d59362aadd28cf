package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func logCases() []testCase {
	return []testCase{
		{"LastAttempts", logsOfLastAttempts},
		{"DeletedWithTheirTask", logsDeleted},
	}
}

func (f *fixture) log(s *task.Step, token int64, text string, kept int) task.AttemptLog {
	f.Helper()
	l := task.AttemptLog{Step: s.ID, Task: s.TaskID, Token: token, Attempt: int(token), At: f.now, Bytes: 1 << 40,
		Text: text}
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.LogStore().AddLog(ctx, tx, &l, kept) })
	return l
}

func (f *fixture) wantLogs(s *task.Step, want ...task.AttemptLog) {
	f.Helper()
	got, err := f.store.LogStore().Logs(f.Context(), s.ID)
	if err != nil {
		f.Fatal(err)
	}
	f.equal("the logs", got, want)
}

func logsOfLastAttempts(f *fixture) {
	jobs := f.many(2)
	step, other := jobs[0].steps[0], jobs[1].steps[0]
	f.wantLogs(step)
	kept := f.log(other, 1, "other", 2)
	first := f.log(step, 7, "a\tä\n\x1b[31m \u202e", 2)
	second := f.log(step, 9, strings.Repeat("x", 70_000), 2)
	f.wantLogs(step, second, first)
	third := f.log(step, 8, "late", 2) // leases end in any order
	f.wantLogs(step, second, third)
	again := f.log(step, 9, "again", 2)
	f.wantLogs(step, again, third)
	f.wantLogs(other, kept)
}

func logsDeleted(f *fixture) {
	jobs := f.many(2)
	var logs []task.AttemptLog
	for _, j := range jobs {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			k, err := tx.Task(ctx, j.task.ID)
			if err != nil {
				return err
			}
			k.Meta.Logged = true
			j.task.Meta = k.Meta
			return tx.SaveTasks(ctx, []*task.Task{k})
		})
		logs = append(logs, f.log(j.steps[0], 1, "x", 2))
	}
	f.finish(jobs[0], f.now.Add(time.Minute))
	f.equal("deleted", deleteFinished(f, f.now.Add(time.Hour), 10), 1)
	f.wantLogs(jobs[0].steps[0])
	f.wantLogs(jobs[1].steps[0], logs[1])
}

// Package script runs a program per step, so that a handler can be written in any language.
//
// The program reads one JSON document on its standard input:
//
//	{"parameters": ..., "parent_results": {"NAME": ...},
//	 "step": {"uuid": "...", "task_uuid": "...", "name": "...", "handler": "...", "namespace": "...",
//	          "task_name": "...", "attempt": 1, "max_attempts": 3, "timeout_seconds": 30},
//	 "checkpoint": ...}
//
// The checkpoint is the last one of an earlier attempt, if any. To store one, the program writes a whole JSON document
// to the file that TASKER_CHECKPOINT_FILE names: under another name first, then renamed.
//
// It writes the step's result, one JSON document or nothing, on its standard output. Its end decides about the step:
//
//	exit 0                   the step is complete if the output is JSON; other output fails it permanently
//	exit 64, 65, 66, 77, 78  the step failed permanently
//	any other exit           the attempt failed; the template says how often it is repeated
//	killed by a signal       the attempt failed; the template says how often it is repeated
//
// The permanent codes are those of sysexits.h that blame the input: EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_NOPERM and
// EX_CONFIG.
//
// Both outputs are the attempt's log, whose end the server keeps. The end of standard error becomes part of the
// failure. When the step times out, is cancelled or loses its lease, the program and its children get SIGTERM and, a
// little later, SIGKILL. On Linux a program gets SIGKILL when its worker is killed.
package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

// final exit codes rule out another attempt.
var final = []int{64, 65, 66, 77, 78}

// Options tune New. Zero fields, or nil, take defaults.
type Options struct {
	// Dir is the program's working directory, by default our own.
	Dir string
	// MaxOutput bounds standard output in bytes, by default 1 MiB; a program that exceeds it is killed, and its
	// step fails permanently.
	MaxOutput int
	// MaxStderr is the kept end of standard error in bytes, by default 8 KiB.
	MaxStderr int
	// KillDelay is the time between SIGTERM and SIGKILL, by default 2 seconds.
	KillDelay time.Duration
	// Abort, when closed, skips the KillDelay of all programs.
	Abort <-chan struct{}
	// CheckpointInterval is the interval of looks for a checkpoint, by default 1 second.
	CheckpointInterval time.Duration
	// Env adds to the program's small environment: NAME passes a variable on, NAME=VALUE sets one. Names with
	// TASKER_ are refused.
	Env []string
}

func (o Options) withDefaults() Options {
	if o.MaxOutput <= 0 {
		o.MaxOutput = 1 << 20
	}
	if o.MaxStderr <= 0 {
		o.MaxStderr = 8 << 10
	}
	if o.CheckpointInterval <= 0 {
		o.CheckpointInterval = time.Second
	}
	if o.KillDelay <= 0 {
		o.KillDelay = 2 * time.Second
	}
	return o
}

// New returns a Handler that runs the existing program argv[0] with the arguments argv[1:] once per step. See Shell
// for a command line.
//
// The program gets PATH, HOME, the locale and the like of our environment, what
// Options.Env adds, TASKER_STEP_UUID, TASKER_CHECKPOINT_FILE and TRACEPARENT, and nothing
// else: an API key or a credential of ours is not its business.
func New(argv []string, opts *Options) (worker.Handler, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("no program to run")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, fmt.Errorf("find program: %w", err)
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	env, err := environment(os.Environ(), o.Env)
	if err != nil {
		return nil, err
	}
	p := program{path: path, argv: argv, env: env, opts: o.withDefaults()}
	return p.handle, nil
}

type program struct {
	path string
	argv []string
	env  []string
	opts Options
}

type input struct {
	Parameters    json.RawMessage            `json:"parameters"`
	ParentResults map[string]json.RawMessage `json:"parent_results"`
	Step          stepInput                  `json:"step"`
	Checkpoint    json.RawMessage            `json:"checkpoint,omitempty"`
}

type stepInput struct {
	UUID           uuid.UUID      `json:"uuid"`
	TaskUUID       uuid.UUID      `json:"task_uuid"`
	Name           string         `json:"name"`
	Handler        string         `json:"handler"`
	Namespace      string         `json:"namespace"`
	TaskName       string         `json:"task_name"`
	Attempt        int            `json:"attempt"`
	MaxAttempts    int            `json:"max_attempts"`
	TimeoutSeconds int            `json:"timeout_seconds"`
	CorrelationID  string         `json:"correlation_id,omitempty"`
	Initialization map[string]any `json:"initialization,omitempty"`
}

// inputOf returns what a program reads. It reads results of parents that are kept apart.
func inputOf(job *worker.Job) (input, error) {
	in := input{
		Parameters: job.Parameters, ParentResults: job.ParentResults, Checkpoint: job.Assignment.Checkpoint,
		Step: stepInput{
			UUID: job.StepUUID, TaskUUID: job.TaskUUID, Name: job.StepName, Handler: job.Handler,
			Namespace: job.Namespace, TaskName: job.TaskName, Attempt: job.Attempt, MaxAttempts: job.MaxAttempts,
			TimeoutSeconds: job.TimeoutSeconds, CorrelationID: job.CorrelationID, Initialization: job.Initialization,
		},
	}
	if in.ParentResults == nil {
		in.ParentResults = map[string]json.RawMessage{} // {} spares every program the case of null
	}
	if len(job.LargeResults) > 0 {
		in.ParentResults = maps.Clone(in.ParentResults)
	}
	for name := range job.LargeResults {
		raw, _, err := job.Parent(name)
		if err != nil {
			return in, err
		}
		in.ParentResults[name] = raw
	}
	return in, nil
}

// handle is the Handler.
func (p *program) handle(ctx context.Context, job *worker.Job) (any, error) {
	in, err := inputOf(job)
	if err != nil {
		return nil, err
	}
	stdin, err := json.Marshal(in)
	if err != nil {
		return nil, worker.NonRetryable(fmt.Errorf("marshal input of step %s: %w", job.StepName, err))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stdout := &limited{limit: p.opts.MaxOutput, over: stop}
	stderr := &tail{limit: p.opts.MaxStderr}

	checkpoints, err := newCheckpointFile(job)
	if err != nil {
		return nil, &tasker.Failure{Type: "start", Message: err.Error(), Class: tasker.ClassWorker}
	}
	defer checkpoints.remove()

	cmd := exec.CommandContext(ctx, p.path, p.argv[1:]...)
	cmd.Args[0] = p.argv[0]
	cmd.Dir = p.opts.Dir
	cmd.Env = append(slices.Clone(p.env), "TASKER_STEP_UUID="+job.StepUUID.String(),
		"TASKER_CHECKPOINT_FILE="+checkpoints.path)
	if job.TraceParent != "" {
		cmd.Env = append(cmd.Env, "TRACEPARENT="+job.TraceParent)
	}
	log := job.Log()
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(log, stdout), io.MultiWriter(log, stderr)
	cmd.WaitDelay = p.opts.KillDelay
	inOwnGroup(cmd)
	// The kernel ends a program with its starting thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return nil, &tasker.Failure{Type: "start", Message: fmt.Sprintf("start program: %v", err)}
	}
	defer killOn(ctx, p.opts.Abort, cmd)()
	stopLooking := checkpoints.watch(p.opts.CheckpointInterval)
	err = cmd.Wait()
	stopLooking()
	// Children must not outlive the step.
	killGroup(cmd)
	if err != nil || !cmd.ProcessState.Success() {
		checkpoints.send() // the last one, for the next attempt
	}

	if stdout.exceeded {
		return nil, failure(cmd, stderr, "output_too_large",
			fmt.Sprintf("the program wrote more than %d bytes to standard output", p.opts.MaxOutput), true)
	}
	return result(cmd, err, stdout.buf.Bytes(), stderr)
}

func result(cmd *exec.Cmd, err error, stdout []byte, stderr *tail) (any, error) {
	state := cmd.ProcessState
	switch code := state.ExitCode(); {
	case code > 0:
		return nil, failure(cmd, stderr, "exit", fmt.Sprintf("exit status %d", code), slices.Contains(final, code))
	case code < 0:
		return nil, failure(cmd, stderr, "signal", state.String(), false)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		// A child held the pipes open after success. It is gone, perhaps with the end of its output, which is then
		// no whole document.
		err = nil
	}
	if err != nil {
		return nil, failure(cmd, stderr, "program", err.Error(), false)
	}
	document := bytes.TrimSpace(stdout)
	if len(document) == 0 {
		return nil, nil
	}
	if !json.Valid(document) {
		return nil, failure(cmd, stderr, "invalid_result", "standard output is not one JSON document: "+excerpt(document),
			true)
	}
	return json.RawMessage(document), nil
}

// details is the JSON part of a failure.
type details struct {
	Command  []string `json:"command"`
	ExitCode int      `json:"exit_code"` // -1: killed by a signal
	Stderr   string   `json:"stderr,omitempty"`
}

// failure puts the last line of standard error, usually the reason, into the message.
func failure(cmd *exec.Cmd, stderr *tail, kind, message string, final bool) error {
	text := strings.ToValidUTF8(stderr.String(), "\uFFFD")
	if last := lastLine(text); last != "" {
		message += ": " + last
	}
	f := &tasker.Failure{Type: kind, Message: message}
	d := details{Command: cmd.Args, ExitCode: cmd.ProcessState.ExitCode(), Stderr: text}
	if d.ExitCode > 0 {
		f.Code = fmt.Sprintf("exit_%d", d.ExitCode)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("%s (marshal details: %w)", message, err)
	}
	f.Details = raw
	if final {
		return worker.NonRetryable(f)
	}
	return f
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

func excerpt(b []byte) string {
	const most = 100
	if len(b) > most {
		return fmt.Sprintf("%q...", b[:most])
	}
	return fmt.Sprintf("%q", b)
}

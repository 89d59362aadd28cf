package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// Main runs the command line of this process and returns its exit code. The first SIGINT or
// SIGTERM cancels the command's context, so that it can shut down; a second one ends the
// process at once, unless the command uses Interrupts.
func Main(version string) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	// After the first signal, stop restores the default handling, under which the next one
	// kills the process.
	context.AfterFunc(ctx, stop)
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		columns, rows = 0, 0
	}
	return Run(ctx, Process{
		Args: os.Args, Environ: os.Environ(), Version: buildVersion(version),
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Terminal:    term.IsTerminal(int(os.Stdout.Fd())),
		Columns:     columns,
		Rows:        rows,
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Now:         time.Now,
		Hangups: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGHUP) // Windows has none: nothing comes
			return c, func() { signal.Stop(c) }
		},
		Interrupts: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 2) // a signal that finds no room is lost
			signal.Notify(c, ends...)
			return c, func() { signal.Stop(c) }
		},
	})
}

// Process is what a command uses of its process. Tests replace all of it; no command reads
// os.Args, os.Stdout or the clock directly.
type Process struct {
	Args     []string // with the program's name first
	Environ  []string // NAME=VALUE
	Version  string
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	// Drivers connect a server to brokers of dead letters in addition to those that every server has.
	Drivers driver.Registry

	// Hangups returns a channel that gets each SIGHUP, which then no longer ends the process, until stop is called.
	Hangups func() (signals <-chan os.Signal, stop func())
	// Interrupts returns a channel that gets each SIGINT and SIGTERM. Until stop is called, later ones than the first do
	// not end the process.
	Interrupts func() (signals <-chan os.Signal, stop func())

	Terminal    bool // Out is a terminal, so that a user is watching
	Columns     int  // its width, 0 if that is not known
	Rows        int  // its height
	ErrTerminal bool // Err is one
}

// Run executes one command line and returns its exit code. It blocks until the command ends;
// cancelling ctx ends it early. Run never calls os.Exit and keeps no state between calls.
func Run(ctx context.Context, p Process) int {
	s := &session{Process: p, name: programName(p.Args)}
	root := newRoot(s)
	root.SetArgs(p.Args[min(1, len(p.Args)):])
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	err := root.ExecuteContext(ctx)
	return s.finish(ctx, err)
}

// session is one run of the command line: the process, the flags that all commands share, and how far the run has come.
// Its methods are what commands are made of. Only one goroutine uses it.
type session struct {
	Process

	name  string // what the program was called as
	begun bool   // the command line was understood, and the command has begun

	json   bool   // results are for programs: --json, or --output json or yaml
	output string // --output, "" if the flag was omitted
	color  string // --color

	noPager   bool          // --no-pager
	collected *bytes.Buffer // what paged has yet to show; nil outside it
	// Of connectFlags; "" if the flag was omitted. Use serverURL.
	server string
	apiKey string
}

// programName returns the name for help and errors: tasker, or tasker-cli if the executable has
// that name. Both are the same program; scripts for earlier command lines call the second.
func programName(args []string) string {
	if len(args) > 0 && strings.TrimSuffix(filepath.Base(args[0]), ".exe") == "tasker-cli" {
		return "tasker-cli"
	}
	return "tasker"
}

// getenv returns the value of a variable, "" if it is not set.
func (s *session) getenv(name string) string {
	for _, pair := range s.Environ {
		if k, v, _ := strings.Cut(pair, "="); k == name {
			return v
		}
	}
	return ""
}

// buildVersion returns the version set by the linker, else the one that the Go toolchain
// recorded, else "(devel)".
func buildVersion(linked string) string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// newRoot builds the tree of commands for a session. The commands store their flags in the session, so each run builds
// its own tree. The order of AddCommand has no effect: help sorts by name.
func newRoot(s *session) *cobra.Command {
	root := &cobra.Command{
		Use:   s.name,
		Short: "Run durable tasks and workflows; investigate and repair failures",
		Long: `Tasker runs durable tasks and workflows, and helps you to investigate and repair the
tasks that fail.

  Try it:  ` + s.name + ` demo
  Run it:  ` + s.name + ` serve`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.Version = s.versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // without the shorthand of cobra
	s.outputFlags(root)
	s.colorFlag(root)
	root.PersistentFlags().BoolVar(&s.noPager, "no-pager", false, "print long lists and help without a pager")
	// cobra's default adds the usage to the error; finish prints a shorter hint.
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return err })
	root.AddCommand(
		newServe(s),
		newDemo(s),
		newBench(s),
		newConfig(s),
		newEncryption(s),
		newKey(s),
		newMigrate(s),
		newCopy(s),
		newBackup(s),
		newHealth(s),
		newDocs(s),
		newDoctor(s),
		newInit(s),
		newLint(s),
		newTask(s),
		newQueue(s),
		newDLQ(s),
		newExplain(s),
		newInbox(s),
		newGroup(s),
		newLetter(s),
		newRedrive(s),
		newReplay(s),
		newSchedule(s),
		newSource(s),
		newWebhook(s),
		newPolicy(s),
		newTopic(s),
		newRule(s),
		newPause(s),
		newOutage(s),
		newResume(s),
		newLimit(s),
		newSignal(s),
		newApprovals(s),
		newEvents(s),
		newAudit(s),
		newTemplate(s),
		newWorker(s),
		newWorkers(s),
		newVersion(s),
		newExitCodes(),
	)
	s.wrapHelp(root)
	s.completions(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	// After AddCommand: guard walks the finished tree.
	s.guard(root)
	return root
}

// guard wraps the body of cmd and its subcommands to note when it begins: an error before that
// moment is an error of the command line. It also gives a body to commands that only group
// others, because cobra would print the help and succeed on a misspelt subcommand.
func (s *session) guard(cmd *cobra.Command) {
	run := cmd.RunE
	if run == nil && !cmd.HasSubCommands() {
		return // a topic of the help
	}
	if run == nil {
		run = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		cmd.Args = knownCommand
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.checkOutput(cmd); err != nil {
			return err
		}
		s.begun = true
		return run(cmd, args)
	}
	for _, sub := range cmd.Commands() {
		s.guard(sub)
	}
}

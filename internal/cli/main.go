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

// Main runs this process's command line and returns the exit code. The first SIGINT or SIGTERM cancels the
// command's context; a second one ends the process, unless the command uses Interrupts.
func Main(version string) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	// stop restores the default handling, so that the next signal kills the process.
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
			signal.Notify(c, syscall.SIGHUP) // never on Windows
			return c, func() { signal.Stop(c) }
		},
		Interrupts: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 2) // keeps a signal that arrives early
			signal.Notify(c, ends...)
			return c, func() { signal.Stop(c) }
		},
	})
}

// Process is a command's view of its process. Tests replace it; no command uses os.Args, os.Stdout or the clock.
type Process struct {
	Args     []string // program name first
	Environ  []string // NAME=VALUE
	Version  string
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	// Drivers connect a server to additional brokers of dead letters.
	Drivers driver.Registry

	// Hangups receives SIGHUPs, which do not end the process until stop.
	Hangups func() (signals <-chan os.Signal, stop func())
	// Interrupts receives SIGINTs and SIGTERMs; until stop, only the first ends the process.
	Interrupts func() (signals <-chan os.Signal, stop func())

	Terminal    bool // Out is a terminal
	Columns     int  // its width, 0 for unknown
	Rows        int  // its height
	ErrTerminal bool // Err is a terminal
}

// Run executes a command line and returns the exit code. Cancelling ctx ends it early. It never calls os.Exit and
// keeps no state.
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

// session is one run: the process, the shared flags, and the progress. One goroutine uses it.
type session struct {
	Process

	name  string // the program's name as called
	begun bool   // the command line was parsed, and the command has begun

	json   bool   // results are for programs: --json, or --output json or yaml
	output string // --output, "" if the flag was omitted
	color  string // --color

	noPager   bool          // --no-pager
	collected *bytes.Buffer // output to be paged; nil outside paged
	// Of connectFlags; use serverURL.
	server string
	apiKey string
}

// programName is tasker, or tasker-cli for an executable of that name, which older scripts call.
func programName(args []string) string {
	if len(args) > 0 && strings.TrimSuffix(filepath.Base(args[0]), ".exe") == "tasker-cli" {
		return "tasker-cli"
	}
	return "tasker"
}

func (s *session) getenv(name string) string {
	for _, pair := range s.Environ {
		if k, v, _ := strings.Cut(pair, "="); k == name {
			return v
		}
	}
	return ""
}

// buildVersion returns the linker's version, else the Go toolchain's, else "(devel)".
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

// newRoot builds a tree per session, because commands store flags in it. Help sorts by name.
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
	root.Flags().Bool("version", false, "print the version") // without cobra's shorthand
	s.outputFlags(root)
	s.colorFlag(root)
	root.PersistentFlags().BoolVar(&s.noPager, "no-pager", false, "print long lists and help without a pager")
	// cobra adds the usage to the error; finish prints a shorter hint.
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
	// guard needs the finished tree.
	s.guard(root)
	return root
}

// guard notes when a body begins, because earlier errors are usage errors. It gives groups a body, because cobra
// would print help and succeed for a misspelt subcommand.
func (s *session) guard(cmd *cobra.Command) {
	run := cmd.RunE
	if run == nil && !cmd.HasSubCommands() {
		return // a help topic
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

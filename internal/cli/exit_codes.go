package cli

import "github.com/spf13/cobra"

// newExitCodes is a topic of the help, not a command.
func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Exit codes:

    0  done
    1  failed; of task wait: the task is in error or was cancelled; of doctor: a check
       fails; of copy: the databases differ; of dlq detect: a task could not be put in error
    2  the command line or the configuration is wrong; nothing was done
    3  there is no such task, step, case, template or worker
    4  conflict: it exists with other content, or its state does not allow the act
    5  unavailable: the server or its store does not answer, or is at a limit; try again later
    6  not allowed: the API key is missing, unknown, or lacks the permission
    7  refused: what was given breaks a rule or is too large; nothing was stored
    8  the time to wait was over first
    9  of doctor: there are warnings, and no check fails
  130  interrupted`,
	}
}

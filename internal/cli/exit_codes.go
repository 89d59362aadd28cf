package cli

import "github.com/spf13/cobra"

// newExitCodes is a help topic: cobra shows a command without a body as one. Scripts may rely on the codes across
// versions.
func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "Explain the exit codes",
		Long: `Exit codes:

    0  success
    1  failure. task wait: the task is in error or cancelled; doctor: a check fails;
       copy: the databases differ; dlq detect: a task could not be set to error;
       migrate status: migrations are pending
    2  the command line or the configuration is invalid; nothing was done
    3  the task, step, case, template or worker does not exist
    4  conflict: it exists with different content, or its state does not allow the act
    5  unavailable: the server or its database does not answer or is overloaded; retry later
    6  not allowed: the API key is missing, unknown, or lacks the permission
    7  refused: the input is invalid or too large; nothing was stored
    8  the timeout expired first
    9  doctor: there are warnings, and no check fails
  130  interrupted`,
	}
}

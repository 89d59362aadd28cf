// Package cli is the command line of Tasker, one file per command.
//
// Results go to standard output, everything else to standard error. With
// --json a result is JSON, and an error is a problem (RFC 9457) in JSON. Text
// that came from elsewhere is cleaned of control characters before it reaches
// a terminal.
//
// Exit codes:
//
//	0    done
//	1    failed; of `task wait`: the task is in error or was cancelled
//	2    the command line or the configuration is wrong; nothing was done
//	3    there is no such task, step, template or worker
//	4    conflict: it exists with other content, or its state does not allow the act
//	5    unavailable: the server or its store does not answer, or is at a limit; try again later
//	6    not allowed: the API key is missing, unknown, or lacks the permission
//	7    refused: what was given breaks a rule or is too large; nothing was stored
//	8    the time to wait was over first
//	130  interrupted
package cli

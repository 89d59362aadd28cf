//go:build !unix

package script

import "os/exec"

// Shell returns the argv that runs a command line as a user would type it.
func Shell(command string) []string { return []string{"cmd", "/C", command} }

// inOwnGroup does nothing: without process groups only the program itself is
// ended, by the default of exec.Cmd.
func inOwnGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}

//go:build !unix

package script

import "os/exec"

// Shell returns the argv that runs a command line as a user would type it.
func Shell(command string) []string { return []string{"cmd", "/C", command} }

// inOwnGroup does nothing: without process groups exec.Cmd ends only the program itself.
func inOwnGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}

// Package process runs the real binary in processes that can be killed: servers and workers of the command line. None
// outlives the process that started it. Unix only.
package process

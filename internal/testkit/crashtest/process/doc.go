// Package process runs the real binary in processes that can be killed: servers
// and workers of the command line. None of them outlives the process that
// started it, however that ends. Unix only.
package process

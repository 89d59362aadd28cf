// Package local is the Backend of an engine in this process: it turns the
// public types of package tasker into the engine's and back, and adds nothing
// of its own. The HTTP server serves it; package embedded opens it.
package local

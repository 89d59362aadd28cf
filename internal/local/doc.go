// Package local translates: it is the tasker.Backend on an engine, and turns the
// public types of package tasker into the engine's and back. It adds no rule of its
// own, and opens nothing: package node puts an engine together.
package local

// Package local translates: it is the tasker.Backend on an engine, and converts the public types of package tasker to
// the engine's and back. It adds no rules of its own, and opens nothing: package node assembles an engine.
package local

// Package node puts an engine together: it picks the store and the dispatcher that
// a DSN and the options name, gives the engine its clock, and runs its background
// loops. It is the only place that does. The server (package app) and the embedded
// engine differ in what they add: one a listener, the other nothing.
package node

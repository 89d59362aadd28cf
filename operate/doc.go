// Package operate is the public API of operators: cases (the investigation of a stuck task), failed tasks and
// their replay, staleness, and the audit trail. Of returns the Backend for a tasker.Client; its interfaces in
// backend.go are the place to start. Like package tasker it contains no server.
package operate

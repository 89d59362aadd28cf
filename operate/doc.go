// Package operate is the public API of operators: cases (the investigation of a task
// that is stuck), failed tasks and their replay, staleness, and the audit trail. Of
// returns it for a tasker.Client. Like package tasker it carries no server along.
package operate

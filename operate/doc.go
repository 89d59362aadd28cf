// Package operate is the public API of operators, people and programs that look after tasks
// that did not go well: cases (the investigation of a stuck task), failed tasks and their
// replay, staleness, and the audit trail.
//
// Of returns the Backend for a tasker.Client, on a server or on an engine in the same process:
//
// cases, err := operate.Of(client).InvestigationQueue(ctx, operate.CaseFilter{})
//
// # Words
//
// A case describes and does not repair. It is opened when a task gets stuck, it records each
// occurrence, and it ends with a resolution. The repair is an act on the task:
// tasker.Client.ActOnStep for one step, ReplayTask for all failed steps of a task, ActOnCases
// for many tasks, tasker.Client.EditContext for wrong input. On the wire cases and failed tasks
// share the name "DLQ", which older clients know.
//
// # Reading
//
// Like package tasker it contains no server. Start with the interfaces in backend.go; case.go,
// failed_task.go, bulk.go and audit.go hold their types, and http.go implements Backend over
// HTTP.
package operate

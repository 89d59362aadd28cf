// Package scheduler holds the use cases of schedules: saving, firing, pausing, backfills. It decides with the pure
// package schedule, and stores through the roles in roles.go, in transactions of the engine's store.
//
// A firing is a row with the key (schedule, time). It is written in the transaction that submits its task and that
// moves the schedule past the time; the row of the schedule is locked meanwhile. So there is one task for each firing
// on any number of nodes, through crashes, and when the clock goes back.
//
// How to read it: scheduler.go has the type, plan.go and fire.go what becomes of times that have come, save.go, act.go
// and backfill.go the verbs of operators, read.go the queries.
package scheduler

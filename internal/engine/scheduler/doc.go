// Package scheduler saves, fires, pauses and backfills schedules. It decides with the pure package schedule, and
// stores through the roles in roles.go, in transactions of the engine's store.
//
// A firing is a row with the key (schedule, time). One transaction writes it, submits its task and moves the locked
// schedule past the time. So each firing has one task on any number of nodes, through crashes, and when the clock
// goes back.
//
// scheduler.go has the type, plan.go and fire.go the firing of due times, save.go, act.go and backfill.go the
// operators' verbs, read.go the queries.
package scheduler

// Package scheduler saves, fires, pauses and backfills schedules. It decides with the pure package schedule, and
// stores through the roles in roles.go, in transactions of the engine's store.
//
// A firing is a row with the key (schedule, time). One transaction writes it, submits its task and moves the locked
// schedule past the time. So each firing has one task on any number of nodes, through crashes, and when the clock
// goes back.
package scheduler

// Package schedules is the public API of schedules: rules that submit a task at each of their times.
//
// Of returns the Backend for a tasker.Client, on a server or on an engine in the same process:
//
//	_, err := schedules.Of(client).Save(ctx, schedules.ScheduleRequest{Spec: schedules.Spec{
//		Name: "nightly-report", Cron: "0 3 * * *", TimeZone: "Europe/Berlin", Template: "report",
//	}})
//
// A firing is one time of a schedule. There is exactly one task for each, on any number of nodes and through crashes.
//
// Like package tasker it contains no server. Start with the interface in backend.go; schedule.go holds its types, and
// http.go implements it over HTTP.
package schedules

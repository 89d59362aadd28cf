// Package local translates between the public API and the engine: Backend is a tasker.Backend, an operate.Backend and a
// queueapi.Backend on an engine.Engine in the same process. The HTTP server and the embedded engine use it, so a
// program gets the same answers and errors from either.
//
// It converts requests (functions to...) and answers (from...), with the places of problems in the caller's request. It
// refuses filters that the engine would only find empty: unknown states, texts that no name can have. It derives the
// history of a task, the sentences that explain a state, and the statuses of the queue API.
//
// It opens nothing: package node assembles an engine. Begin with backend.go, then tasks.go and steps.go; convert.go is
// shared. The files queue*.go are about the queue API, flow.go and waits.go about what holds steps back, cases.go,
// case_story.go, bulk.go, failedtasks.go and audit.go about operators, explain*.go and history.go about single tasks.
package local

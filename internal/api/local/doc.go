// Package local translates between the public API and the engine: Backend is a tasker.Backend,
// an operate.Backend and a queueapi.Backend on an engine.Engine in the same process. The HTTP
// server and the embedded engine both use it, so that a program gets the same answers and
// errors from either.
//
// It does three things, and adds no rules of its own:
//
//   - It converts requests to the engine's types (functions to...) and answers to the public
//     ones (from...). Places of problems become those of the caller's request.
//   - It refuses filters that the engine would only find empty: unknown states, texts that no
//     name can have.
//   - It derives what is not stored: the history of a task, the sentences that explain a
//     state, and the statuses of the queue API.
//
// It opens nothing: package node assembles an engine. Begin with backend.go, then tasks.go and
// steps.go; errors.go and filter.go hold what all files share. The files queue*.go are about
// the queue API, cases.go, case_story.go, bulk.go, failedtasks.go and audit.go about operators,
// explain*.go and history.go about single tasks.
package local

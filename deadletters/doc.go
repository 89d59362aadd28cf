// Package deadletters is the public API of dead letters: messages that their consumers could not process. A program
// reports them; operators look at them in groups of one cause, and send them back in waves.
//
// Of returns the Backend for a tasker.Client, on a server or on an engine in the same process. A program that reports
// a failure needs a source that exists, and a few lines:
//
//	_, err := deadletters.Of(client).Report(ctx, deadletters.ReportRequest{
//		Source:  "billing",
//		Reports: []deadletters.Report{deadletters.NewReport("orders", message, failure)},
//	})
//
// # Words
//
// A letter is one message, for as long as it is known; an occurrence is one time that it died. A source is where
// letters come from. A group is everything with one fingerprint: letters, and cases of tasks (package operate). A
// redrive is an operation on a frozen selection of both, in waves. A policy sends letters of a source back without an
// operator.
//
// # Reading
//
// Like package tasker it contains no server. Start with the interfaces in backend.go; letter.go, group.go, redrive.go
// and source.go hold their types, and http.go implements Backend over HTTP.
package deadletters

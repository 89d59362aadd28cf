// Package incident plays a night in which an application fails, and the morning after: 10,000 bird-strike reports
// die in its dead-letter queue for eight causes, and Tasker's inbox, groups and redrives bring them back.
//
// The application is real code. It consumes a queue of a broker in this process (consumer.go), and its release 2.0
// refuses reports that the form allows (rules.go). Release 2.1 corrects seven causes and tries to correct the eighth,
// release 2.2 corrects that one too. The broker, the application and Tasker know nothing of each other but queues and
// headers.
//
// [Run] tells the story step by step (story.go). The [Summary] is computed by a check that compares what the
// application received with what the inbox holds (check.go).
package incident

// Package incident plays a night in which an application fails, and the morning after: 10,000 bird-strike reports
// die in its dead-letter queue for eight causes, and Tasker's inbox, groups and redrives bring them back.
//
// The application is real code on a queue of this process's broker (consumer.go), and its release 2.0 refuses
// reports that the form allows (rules.go). Release 2.1 fixes seven causes and fails to fix the eighth, which
// release 2.2 fixes. The broker, the application and Tasker share only queues and headers.
//
// [Run] tells the story step by step (story.go). The [Summary] compares the application's records with the inbox
// (check.go).
package incident

// Package spool keeps records on disk that cannot be sent on right now, such as failures while their database is down.
//
// Append returns when its records are on disk; concurrent callers share a sync. Read returns the oldest records, and
// Done drops them once they arrived. Both survive a crash at any moment: a record of which Append returned nil is read
// at least once, in order, by this process or by the next one on the directory.
//
// A directory has files with up to SegmentBytes of records each, numbered in the order of writing, a file that says how
// far they were read, and a lock that keeps a second process out. A record has a header with its length and checksums
// of both. What a crash left half-written is cut off. What is damaged otherwise is moved into the subdirectory
// "damaged", for an operator to look at, and reported; the records behind it are read as ever.
//
// spool.go has the type, record.go the format, recover.go what happens at Open, read.go the reading side.
package spool

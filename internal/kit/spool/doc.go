// Package spool keeps records on disk that cannot be sent now, such as failures while their database is down.
//
// Append returns when its records are on disk; concurrent callers share a sync. Read returns the oldest records, and
// Done drops them once they arrived. Both survive a crash at any moment: a record of which Append returned nil is read
// at least once, in order, by this process or by the next one on the directory.
//
// A directory has numbered files with up to SegmentBytes of records each, a file with the position of the reader, and a
// lock that keeps a second process out. A record has a header with its length and checksums of both. A half-written end
// is cut off after a crash. Other damage is moved into the subdirectory "damaged" and reported; the records behind it
// remain readable.
//
// spool.go has the type, record.go the format, recover.go the recovery at Open, read.go the reading side.
package spool

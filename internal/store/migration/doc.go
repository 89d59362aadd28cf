// Package migration brings a database's schema to the version of this binary, and refuses a database with an
// unknown schema. Its main type is Migrator.
//
// Version 1 is the schema itself: a file for each domain, joined in a declared order. Migrations follow as files
// 0002_words.sql and so on, without a gap. Each version is one transaction, and a schema moves forward and never
// back. The database records applied versions in tasker_migrations, with the SHA-256 of each. So every start
// detects a file that was changed after its application, and a database that a newer binary has migrated.
//
// When many processes start at once, one migrates: the process with the lock does it, and the others wait and
// find it done.
package migration

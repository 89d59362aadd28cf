// Package migration brings a database's schema to the version of this binary, and refuses a database with an
// unknown schema. Its main type is Migrator.
//
// A list of migrations is a directory of files, 0001_words.sql and so on without a gap, each one transaction
// in the format of goose with an Up part only: a schema moves forward and never back. The database records
// applied migrations in tasker_migrations, which is goose's table, with the SHA-256 of each file. So every
// start detects a file that was changed after its application, and a database that a newer binary has
// migrated.
//
// When many processes start at once, one migrates: the process with the lock does it, and the others wait and
// find it done.
package migration

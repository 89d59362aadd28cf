// Package config reads the configuration of a Tasker process. Load is its main function; Config holds the
// values in force.
//
// A setting has one name everywhere: the path in the YAML file (server.listen), the environment variable
// derived from it (TASKER_SERVER_LISTEN), and, for common ones, a flag (--listen). A later layer overrides an
// earlier one: defaults, file, environment, flags. An empty environment variable counts as not set.
//
// The names are derived from the field names of [Config], so a field and its key cannot drift apart. An
// unknown key is an error, and all problems are reported at once, each with its place. Read load.go first.
package config

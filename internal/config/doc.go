// Package config reads what a Tasker process is told to do.
//
// A setting has one name everywhere: the path in the YAML file
// (server.listen), the environment variable made of it
// (TASKER_SERVER_LISTEN), and, for the common ones, a flag (--listen). A later
// layer wins over an earlier one: defaults, file, environment, flags. An empty
// environment variable counts as not set.
//
// The names are derived from the field names of [Config], so a field and its
// key cannot drift apart. A key that no field has is an error, and all
// problems are reported at once, each with its place.
package config

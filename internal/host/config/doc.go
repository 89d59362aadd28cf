// Package config reads the configuration of a Tasker process. Load returns the effective values as a Config.
//
// A setting has one name: its path in the YAML file (server.listen), the environment variable derived from it
// (TASKER_SERVER_LISTEN), and, for common ones, a flag (--listen). Later layers override earlier ones: defaults,
// file, environment, flags. An empty environment variable counts as missing.
//
// The names derive from the fields of [Config], so they cannot drift apart. An unknown key is an error, and all
// problems are reported together, each with its place. Read load.go first.
package config

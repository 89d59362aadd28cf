// Package linked keeps the drivers that a program contains. The import of a package below embedded registers
// it, as with package database/sql, so that a program contains the client libraries that it uses and no others.
//
// The seam of each kind of driver has a [Set]: package driver that of brokers, package dispatch those of queues and
// transports, package blobstore that of services, package store that of databases.
package linked

import (
	"fmt"
	"maps"
	"slices"
)

// public are the packages that link drivers for programs with the embedded engine, below embedded, by driver.
var public = map[string]string{"kafka": "kafka", "postgres": "postgres", "rabbitmq": "rabbitmq", "redis": "redis",
	"redis-list": "redis", "redis-stream": "redis", "s3": "s3"}

// Import returns the path of the package that links a driver; "" for an unknown name.
func Import(name string) string {
	if public[name] == "" {
		return ""
	}
	return "github.com/taskerhq/tasker/embedded/" + public[name]
}

// Known returns the names of all drivers that a program can link.
func Known() []string { return slices.Sorted(maps.Keys(public)) }

// MissingError is the use of a driver that the program does not link.
type MissingError struct{ Driver string }

// Error names the import that is missing.
func (e *MissingError) Error() string {
	return fmt.Sprintf("this program does not link the driver %s: add import _ %q", e.Driver, Import(e.Driver))
}

// Set has the drivers of one kind by name. The zero value is empty.
type Set[T any] struct{ drivers map[string]T }

// Register adds a driver. Only functions init of packages below embedded call it, so a Set needs no lock.
func (s *Set[T]) Register(name string, driver T) {
	if _, twice := s.drivers[name]; twice || Import(name) == "" {
		panic("linked: the driver " + name + " is registered twice, or has no public package")
	}
	if s.drivers == nil {
		s.drivers = map[string]T{}
	}
	s.drivers[name] = driver
}

// Find returns a driver. A *MissingError names the import of one that is not linked.
func (s *Set[T]) Find(name string) (T, error) {
	driver, is := s.drivers[name]
	if !is {
		return driver, &MissingError{name}
	}
	return driver, nil
}

// Missing returns the error of a driver that could be linked and is not; nil for a linked one, and for a name that is
// unknown here.
func (s *Set[T]) Missing(name string) error {
	if _, is := s.drivers[name]; is || Import(name) == "" {
		return nil
	}
	return &MissingError{name}
}

// All returns the linked drivers.
func (s *Set[T]) All() map[string]T { return maps.Clone(s.drivers) }

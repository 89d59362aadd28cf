// Package rate counts over time: events of the last minute or hour (Window), the speed of a service (Service), and
// the remaining submissions of each user (Limits). The time is an argument of every call. Begin with window.go.
package rate

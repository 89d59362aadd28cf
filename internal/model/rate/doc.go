// Package rate counts over time: events of the last minute or hour (Window), the speed at which something is served
// (Service), and the remaining submissions of each user (Limits). It reads no clock: the time is an argument of every
// call. Begin with window.go.
package rate

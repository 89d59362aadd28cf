// Package rate counts over time: what happened in the last minute or hour (Window), how
// quickly something is served (Service), and what each user may still submit (Limits). It
// reads no clock: every call says what time it is.
package rate

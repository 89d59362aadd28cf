// Package clock gives a process the time so that a step of the machine's clock is not a step of the engine's.
//
// A machine's wall clock can jump: NTP corrects it, an operator sets it, a laptop wakes up, a virtual machine is
// resumed. Its monotonic clock cannot. Both clocks of this package count on the monotonic one and correct themselves by
// an authority: Steady by the wall clock, once a jump has lasted, and Remote by another machine's clock, such as the
// database's.
//
// Read steady.go first.
package clock

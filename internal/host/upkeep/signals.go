package upkeep

// signals hands signals to steps that began to wait in callers' transactions, and finishes the work of an ended
// process.
func (u *Upkeep) signals() Loop {
	return Loop{Name: "signals", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.HandOverSignals}
}

package upkeep

// ordering gives turns of ordering keys to tasks submitted in callers' transactions, or by a process that ended too
// early.
func (u *Upkeep) ordering() Loop {
	return Loop{Name: "ordering", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.GiveTurns}
}

package upkeep

// children continues steps with child tasks after a crash, and where a child ended in a caller's transaction. Other
// changes are handled right after their commit.
func (u *Upkeep) children() Loop {
	return Loop{Name: "children", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.AdvanceChildren}
}

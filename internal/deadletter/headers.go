package deadletter

// The headers of a message that is sent back. When it dies again, they say which letter it is.
const (
	HeaderLetter  = "tasker-letter"  // ID of the letter
	HeaderRedrive = "tasker-redrive" // ID of the redrive
	HeaderReplays = "tasker-replays" // times that the letter was sent back, in decimal
)

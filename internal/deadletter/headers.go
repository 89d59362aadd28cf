package deadletter

// The headers of a message that is sent back. When it dies again, they say which letter it is.
const (
	HeaderLetter  = "tasker-letter"  // ID of the letter
	HeaderRedrive = "tasker-redrive" // ID of the redrive
	HeaderReplays = "tasker-replays" // times that the letter was sent back, in decimal
)

// The headers that consumers of event platforms expect, beside those above, on what is sent back.
const (
	HeaderRetryCount     = "dlq_retry_count"     // as tasker-replays
	HeaderOriginalError  = "dlq_original_error"  // the error of the letter, cut to 1 KiB
	HeaderRetryTimestamp = "dlq_retry_timestamp" // when it was sent back: RFC 3339 with microseconds
)

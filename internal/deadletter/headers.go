package deadletter

// The headers of a message that is sent back. When it dies again, they name the send that it may be a death of.
const (
	HeaderLetter  = "tasker-letter"  // ID of the letter
	HeaderRedrive = "tasker-redrive" // ID of the redrive
	HeaderReplays = "tasker-replays" // number of the send, in decimal; one that is tried again keeps it
)

// The headers that consumers of event platforms expect, beside those above, on what is sent back.
const (
	HeaderRetryCount     = "dlq_retry_count"     // as tasker-replays
	HeaderOriginalError  = "dlq_original_error"  // the error of the letter, cut to 1 KiB
	HeaderRetryTimestamp = "dlq_retry_timestamp" // when it was sent back: RFC 3339 with microseconds
)

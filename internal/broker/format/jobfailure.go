package format

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// jobFailure is a job of a Redis list in a JSON object, beside its failure or the full queue that it was moved from.
var jobFailure = convention{
	name: "job_failure",
	follows: func(m *message) bool {
		return m.members("original_job", "error", "queue_name") || m.members("original_queue", "data", "reason")
	},
	decode: decodeJobFailure,
}

// decodeJobFailure unwraps the job byte for byte: a redrive must send the job.
func decodeJobFailure(m *message, d *Decoded) error {
	o, err := m.fields()
	if err != nil {
		return err
	}
	d.Content = deadletter.Content{Key: d.Content.Key, Headers: d.Content.Headers}
	job, failed := o["original_job"]
	switch {
	case !failed: // the other wrapper: moved because its queue was full
		d.Origin = jsonName(o["original_queue"])
		d.Failure.Type = jsonName(o["reason"])
		d.Failure.Message = jsonText(o["reason"])
		d.detail("overflow_policy", jsonText(o["overflow_policy"]))
		d.Content.Payload = []byte(jsonText(o["data"]))
		return decodeText(&d.Content.Payload, o["data"], "data", o["data_encoding"])
	case string(job) == "null":
		return errors.New("original_job is null")
	}
	d.Content.Payload = job
	if err := decodeText(&d.Content.Payload, job, "original_job", o["original_job_encoding"]); err != nil {
		return err
	}
	d.Origin = jsonName(o["queue_name"])
	d.Failure.Type = jsonName(o["error_type"])
	d.Failure.Message = jsonText(o["error"])
	d.Stack = jsonText(o["stack_trace"])
	d.Attempts = jsonCount(o["attempt_count"])
	d.FirstAt, d.LastAt = jsonInstant(o["first_failed_at"]), jsonInstant(o["last_failed_at"])
	for _, name := range []string{"http_status", "response_body", "retry_delays", "context"} {
		d.detail(name, jsonText(o[name]))
	}
	return nil
}

// decodeText decodes a string job, whose encoding is in a member beside it; without that the payload stays.
func decodeText(payload *[]byte, job json.RawMessage, name string, encoding json.RawMessage) error {
	switch jsonText(encoding) {
	case "text":
		*payload = []byte(jsonText(job))
	case "base64":
		b, err := base64.StdEncoding.DecodeString(jsonText(job))
		if err != nil {
			return fmt.Errorf("%s is not in base64, as %s_encoding says: %w", name, name, err)
		}
		*payload = b
	}
	return nil
}

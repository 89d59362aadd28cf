-- +goose Up
-- Cases whose tasks run again: a loop looks for what has become of them, of redrives that have ended too.
CREATE INDEX tasker_redrive_items_watched ON tasker_redrive_items (redrive_id, no) WHERE kind = 'case' AND state = 'sent';

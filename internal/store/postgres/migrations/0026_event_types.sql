-- +goose Up
-- The type of the event that a letter carries, as its content says; '' where it says none, and for letters from before.
ALTER TABLE tasker_letters ADD COLUMN event_type text NOT NULL DEFAULT '';
CREATE INDEX tasker_letters_by_event_type ON tasker_letters (namespace, event_type, state, letter_id)
    WHERE event_type <> '';
-- Operators name letters by the IDs of their senders.
CREATE INDEX tasker_letters_by_message ON tasker_letters (namespace, message_id, letter_id) WHERE message_id <> '';

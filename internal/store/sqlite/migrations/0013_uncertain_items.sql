-- +goose Up
-- The few items of a redrive that may have been sent twice: a page counts them.
CREATE INDEX tasker_redrive_items_uncertain ON tasker_redrive_items (redrive_id) WHERE uncertain = 1;

-- +goose Up
-- Without statistics SQLite takes the items of a redrive for ten, and reads all of them, where an index finds the one
-- that came back. These are what a large redrive has; ANALYZE replaces them by what there is.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1 WHERE tbl = 'tasker_redrive_items';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('tasker_redrive_items', 'tasker_redrive_items', '1000000 50000 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_by_item', '1000000 50000 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_notable', '10000 500 170 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_sending', '500 500 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_by_wave', '500000 25000 1000 500'),
    ('tasker_redrive_items', 'tasker_redrive_items_watched', '10000 500 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_uncertain', '100 5');

-- +goose Up
-- A large snapshot is only read with its one case. Apart from the row, it is not
-- copied when the case changes, and what lists look at stays together. Lists and
-- statistics are answered from indexes alone where vacuum has been.
ALTER TABLE tasker_tasks_dlq SET (toast_tuple_target = 256,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_cost_limit = 2000);

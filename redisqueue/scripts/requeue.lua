#!lua
-- Sends an entry of a list of dead letters to a queue, in one step: it is in one of the two lists at every moment.
--
-- KEYS: dead letters, queue    ARGV: LPUSH or RPUSH, the entry, the job
-- Returns the length of the queue, or -1 if the list has no such entry any more. It pushes first: Redis does not undo a
-- script that fails half-way, and a job that cannot be pushed stays where it is.
if not redis.call('LPOS', KEYS[1], ARGV[2]) then return -1 end
local n = redis.call(ARGV[1], KEYS[2], ARGV[3])
redis.call('LREM', KEYS[1], 1, ARGV[2])
return n

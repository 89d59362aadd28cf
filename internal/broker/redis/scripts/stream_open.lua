#!lua flags=allow-oom
-- Makes the group of a stream that has none yet, so that it gets all that is there. KEYS: stream    ARGV: group
-- Returns whether the stream exists.
if redis.call('EXISTS', KEYS[1]) == 0 then return {0} end
local answer = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0')
if answer.err and not string.find(answer.err, 'BUSYGROUP') then return redis.error_reply(answer.err) end
return {1}

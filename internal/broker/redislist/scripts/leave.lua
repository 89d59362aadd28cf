#!lua flags=allow-oom
-- Forgets a consumer whose list is empty, and returns how many entries are in it.
local held = redis.call('LLEN', KEYS[1])
if held == 0 and not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return held

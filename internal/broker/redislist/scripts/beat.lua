#!lua flags=allow-oom
-- Records that a consumer lives, and returns how many entries are in its list.
if redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  return redis.error_reply('TAKENOVER the consumer was silent for too long')
end
local t = redis.call('TIME')
redis.call('ZADD', KEYS[2], t[1] * 1000 + math.floor(t[2] / 1000), ARGV[1])
return redis.call('LLEN', KEYS[1])

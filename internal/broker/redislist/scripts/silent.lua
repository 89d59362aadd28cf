#!lua flags=no-writes
-- Returns the consumers that were silent for ARGV[1] milliseconds, the last to fall silent first, and a few that were
-- silent for ARGV[2]: they can be forgotten. Both are bounded, so that a crash loop does not make it slow.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ids = redis.call('ZREVRANGEBYSCORE', KEYS[1], now - ARGV[1], '-inf', 'LIMIT', 0, 100)
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2], 'LIMIT', 0, 10)) do
  ids[#ids + 1] = id
end
return ids

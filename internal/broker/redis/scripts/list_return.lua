#!lua flags=allow-oom
-- Puts messages that were put aside back at the head of their list, in their order, unless they are still too large.
--
-- KEYS: list, oversized    ARGV: LEFT or RIGHT, bytes that fit
-- Returns ID and size of each that stays aside.
local ids = redis.call('HKEYS', KEYS[2])
table.sort(ids, function(a, b) return a > b end)
local out = {}
for _, id in ipairs(ids) do
  local size = redis.call('HSTRLEN', KEYS[2], id)
  if size > tonumber(ARGV[2]) then
    out[#out + 1], out[#out + 2] = id, size
  else
    redis.call(ARGV[1] == 'RIGHT' and 'RPUSH' or 'LPUSH', KEYS[1], redis.call('HGET', KEYS[2], id))
    redis.call('HDEL', KEYS[2], id)
  end
end
return out

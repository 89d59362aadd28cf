#!lua flags=allow-oom
-- Puts messages that were put aside back at the head of their list, in their order, unless they are still too large.
--
-- KEYS: list, oversized    ARGV: LEFT or RIGHT, bytes that fit
-- Returns ID and size of each that stays aside.
local fields = redis.call('HKEYS', KEYS[2])
table.sort(fields, function(a, b) return a > b end)
local out = {}
for _, field in ipairs(fields) do
  local id, size = string.match(field, '^(.*):(%d+)$')
  if id and tonumber(size) > tonumber(ARGV[2]) then
    out[#out + 1], out[#out + 2] = id, size
  else
    redis.call(ARGV[1] == 'RIGHT' and 'RPUSH' or 'LPUSH', KEYS[1], redis.call('HGET', KEYS[2], field))
    redis.call('HDEL', KEYS[2], field)
  end
end
return out

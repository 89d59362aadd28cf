#!lua flags=allow-oom
-- Moves messages that a receiver held which is gone to what another one holds, the oldest first. Their IDs stay. A
-- receiver that has come back in the meantime keeps them.
--
-- KEYS: receivers, held by the one that is gone, held
-- ARGV: the receiver that is gone, max, bytes
-- Returns ID and payload of each message.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) >= now then return {} end
local ids = redis.call('HKEYS', KEYS[2])
table.sort(ids)
local max, bytes = tonumber(ARGV[2]), tonumber(ARGV[3])
local out, size = {}, 0
for _, id in ipairs(ids) do
  if #out >= 2 * max or size >= bytes then return out end
  local payload = redis.call('HGET', KEYS[2], id)
  redis.call('HSET', KEYS[3], id, payload)
  redis.call('HDEL', KEYS[2], id)
  size = size + #payload
  out[#out + 1] = id
  out[#out + 1] = payload
end
redis.call('ZREM', KEYS[1], ARGV[1])
return out

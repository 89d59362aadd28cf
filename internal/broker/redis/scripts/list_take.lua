#!lua flags=allow-oom
-- Moves messages from the head of a list to what a receiver holds, and says that the receiver is alive. With max 0 it
-- only does the latter. It moves nothing while a receiver that is gone holds messages: those come first.
--
-- Messages are copied before they are removed: an error in between loses nothing.
--
-- KEYS: list, receivers, held
-- ARGV: receiver, milliseconds until it counts as gone, LEFT or RIGHT, max, bytes, number of the first message
-- Returns the receiver that is gone or '', then ID and payload of each message.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
local max, bytes, number = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if max == 0 then return {''} end
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. string.format('%.0f', now), 'LIMIT', 0, 1)
if gone[1] then return {gone[1]} end
local right = ARGV[3] == 'RIGHT'
local out, size, taken, chunk = {''}, 0, 0, 4
while taken < max and size < bytes do
  chunk = math.min(chunk, max - taken)
  local found
  if right then
    found = redis.call('LRANGE', KEYS[1], -chunk, -1)
  else
    found = redis.call('LRANGE', KEYS[1], 0, chunk - 1)
  end
  local moved, n = {}, 0
  while n < #found and size < bytes do
    local payload = right and found[#found - n] or found[n + 1]
    local id = ARGV[1] .. '-' .. string.format('%012.0f', number)
    moved[2 * n + 1], moved[2 * n + 2] = id, payload
    out[#out + 1], out[#out + 2] = id, payload
    n, number, size = n + 1, number + 1, size + #payload
  end
  if n == 0 then break end
  redis.call('HSET', KEYS[3], unpack(moved))
  redis.call(right and 'RPOP' or 'LPOP', KEYS[1], n)
  taken = taken + n
  -- The next ones are probably as large.
  chunk = math.max(1, math.min(2 * chunk, 128, math.floor((bytes - size) * taken / math.max(size, 1))))
end
return out

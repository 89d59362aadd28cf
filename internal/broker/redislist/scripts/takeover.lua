#!lua flags=allow-oom
-- Moves up to ARGV[4] entries of a silent consumer back to the head of the queue, in their order. From then on the
-- consumer can take no more. It stays registered for ARGV[3] milliseconds: a move that it had begun may end later.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local last = redis.call('ZSCORE', KEYS[3], ARGV[1])
if not last or tonumber(last) > now - ARGV[2] then return -1 end
redis.call('ZADD', KEYS[4], 'NX', now, ARGV[1])
for moved = 0, ARGV[4] - 1 do
  if not redis.call('LMOVE', KEYS[2], KEYS[1], 'RIGHT', ARGV[5]) then
    if tonumber(last) <= now - ARGV[3] then
      redis.call('ZREM', KEYS[3], ARGV[1])
      redis.call('ZREM', KEYS[4], ARGV[1])
    end
    return moved
  end
end
return tonumber(ARGV[4])

#!lua flags=allow-oom
-- Ends what a consumer has taken.
--
-- KEYS: stream    ARGV: group, consumer, ACK, DELETE, RELEASE or CLOSE, IDs
-- ACK: the entries do not come again. DELETE: they are removed from the stream, too. RELEASE: they are taken again at
-- once, unless another consumer has taken them. CLOSE: the same for all of the consumer's, and it is forgotten.
local key, group, consumer, act = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
if act == 'ACK' or act == 'DELETE' then
  for i = 4, #ARGV, 500 do
    local last = math.min(i + 499, #ARGV)
    redis.call('XACK', key, group, unpack(ARGV, i, last))
    if act == 'DELETE' then redis.call('XDEL', key, unpack(ARGV, i, last)) end
  end
  return 0
end
local chosen = {}
for i = 4, #ARGV do chosen[ARGV[i]] = true end
for _, p in ipairs(redis.call('XPENDING', key, group, '-', '+', 100000, consumer)) do
  if act == 'CLOSE' or chosen[p[1]] then
    redis.call('XCLAIM', key, group, 'given-back', 0, p[1], 'IDLE', 1000000000000, 'JUSTID')
  end
end
if act == 'CLOSE' then redis.call('XGROUP', 'DELCONSUMER', key, group, consumer) end
return 0

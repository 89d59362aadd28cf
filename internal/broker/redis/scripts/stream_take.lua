#!lua flags=allow-oom
-- Takes entries of a stream for a consumer: first those of consumers that are gone, then new ones. With max 0 it only
-- says that the consumer is alive: its entries count as taken now. Those that another one took over stay there. Then it
-- also forgets consumers that have been silent for long and hold nothing.
--
-- KEYS: stream    ARGV: group, consumer, milliseconds until an entry counts as left, max, bytes
-- Returns the ID of the last entry of the stream, then '1' for an entry that was taken before, ID and fields of each.
local key, group, consumer, left = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local max, bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
if max == 0 then
  for _, p in ipairs(redis.call('XPENDING', key, group, '-', '+', 100000, consumer)) do
    redis.call('XCLAIM', key, group, consumer, 0, p[1], 'JUSTID')
  end
  for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
    local of = {}
    for i = 1, #info, 2 do of[info[i]] = info[i + 1] end
    if of['pending'] == 0 and of['idle'] > 10 * left and of['name'] ~= consumer then
      redis.call('XGROUP', 'DELCONSUMER', key, group, of['name'])
    end
  end
  return {'0-0'}
end
local out, size = {}, 0
local function add(again, entry)
  for _, part in ipairs(entry[2]) do size = size + #part end
  out[#out + 1], out[#out + 2], out[#out + 3] = again, entry[1], entry[2]
end
for _, p in ipairs(redis.call('XPENDING', key, group, 'IDLE', left, '-', '+', max)) do
  if size >= bytes then break end
  if p[2] ~= consumer then
    for _, entry in ipairs(redis.call('XCLAIM', key, group, consumer, left, p[1])) do add('1', entry) end
  end
  if p[2] ~= consumer and #redis.call('XPENDING', key, group, '-', '+', 1, p[2]) == 0 then
    redis.call('XGROUP', 'DELCONSUMER', key, group, p[2])
  end
end
local chunk = 1 -- more with each turn; what is read counts as taken, whatever its size
while #out < 3 * max and size < bytes do
  chunk = math.min(chunk, max - #out / 3)
  local answer = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', chunk, 'STREAMS', key, '>')
  if not answer then break end
  for _, entry in ipairs(answer[1][2]) do add('', entry) end
  if #answer[1][2] < chunk then break end
  chunk = math.max(1, math.min(2 * chunk, 32, math.floor((bytes - size) * #out / 3 / math.max(size, 1))))
end
local info, last = redis.call('XINFO', 'STREAM', key), '0-0'
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then last = info[i + 1] end
end
return {last, unpack(out)}

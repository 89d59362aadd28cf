#!lua
-- Adds jobs to a queue, of which no more than a number may wait.
--
-- KEYS: queue, list of its overflow    ARGV: policy, most jobs, most jobs of the overflow or 0, name of the queue,
-- side of the newest (LEFT or RIGHT), jobs
-- Returns the length before, the length after, how many jobs were moved, how many were dropped. A length after of -1:
-- nothing was added because the queue is full; -2: because the list of its overflow is.
--
-- It adds before it removes, because Redis does not undo a script that fails half-way. Without flags it does not begin
-- on a server that is out of memory.
local policy, max, room, name, side = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local count = #ARGV - 5
local length = redis.call('LLEN', KEYS[1])
local over = math.max(0, length + count - max)
if over > 0 and (policy == 'reject' or count > max) then return {length, -1, 0, 0} end
-- A queue that other programs filled far beyond the limit is cut step by step: Redis serves nobody else meanwhile.
over = math.min(over, length, count + 1000)

-- JSON is UTF-8. Other bytes are written in base64, and a member says so.
local valid = {'[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]', '[\241-\243][\128-\191][\128-\191][\128-\191]',
  '\244[\128-\143][\128-\191][\128-\191]'}
local function is_text(s)
  if not s:find('[\128-\255]') then return true end
  -- A sequence is replaced by a space, so that the bytes around it do not form another one.
  for _, pattern in ipairs(valid) do s = s:gsub(pattern, ' ') end
  return not s:find('[\128-\255]')
end
local digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
local function base64(s)
  local out = {}
  for i = 1, #s, 3 do
    local a, b, c = s:byte(i, i + 2)
    local n = a * 65536 + (b or 0) * 256 + (c or 0)
    for shift = 3, 0, -1 do
      local digit = math.floor(n / 64 ^ shift) % 64 + 1
      out[#out + 1] = digits:sub(digit, digit)
    end
    if not c then out[#out] = '=' end
    if not b then out[#out - 1] = '=' end
  end
  return table.concat(out)
end
local function entry(job)
  local encoding = ''
  if not is_text(job) then job, encoding = base64(job), ',"data_encoding":"base64"' end
  return '{"original_queue":' .. cjson.encode(name) .. ',"data":' .. cjson.encode(job) ..
    ',"reason":"queue_overflow","overflow_policy":"dlq"' .. encoding .. '}'
end

local moved, dropped = 0, 0
local first, last = 0, over - 1
if side == 'LEFT' then first, last = -over, -1 end
if over > 0 and policy == 'dlq' then
  if room > 0 and redis.call('LLEN', KEYS[2]) + over > room then return {length, -2, 0, 0} end
  local oldest = redis.call('LRANGE', KEYS[1], first, last)
  local from, to, step = 1, #oldest, 1
  if side == 'LEFT' then from, to, step = #oldest, 1, -1 end
  for i = from, to, step do redis.call('RPUSH', KEYS[2], entry(oldest[i])) end
  moved = over
end
local push = 'RPUSH'
if side == 'LEFT' then push = 'LPUSH' end
for i = 6, #ARGV do redis.call(push, KEYS[1], ARGV[i]) end
if over > 0 then
  if side == 'LEFT' then
    redis.call('LTRIM', KEYS[1], 0, -over - 1)
  else
    redis.call('LTRIM', KEYS[1], over, -1)
  end
  if policy ~= 'dlq' then dropped = over end
end
return {length, redis.call('LLEN', KEYS[1]), moved, dropped}

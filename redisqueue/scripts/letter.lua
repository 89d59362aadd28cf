#!lua
-- Adds dead letters to the end of their list, and removes their jobs from the list of their consumer, if they have one.
--
-- KEYS: dead letters, writer, list of the consumer, consumers that are gone
-- ARGV: most letters in the list or 0, milliseconds for which a writer is remembered, the consumer or '',
--       then number, job and letter of each; the numbers of a writer increase
-- Returns for each letter: 1 added; 0 added before, when the answer was lost; 2 the job was moved back to its queue, so
-- another consumer has it; 3 the list is full.
--
-- It adds before it removes, because Redis does not undo a script that fails half-way. Without flags it does not begin
-- on a server that is out of memory.
local max, consumer = tonumber(ARGV[1]), ARGV[3]
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local room = math.huge
if max > 0 then room = max - redis.call('LLEN', KEYS[1]) end
local gone = consumer ~= '' and redis.call('ZSCORE', KEYS[4], consumer)
local out, add, remove, newest = {}, {}, {}, last
for i = 4, #ARGV, 3 do
  local number, job = tonumber(ARGV[i]), ARGV[i + 1]
  local result = 1
  if number <= last then
    result = 0
  elseif gone and not redis.call('LPOS', KEYS[3], job) then
    -- A job that is nowhere although its consumer was not given up: somebody emptied Redis, and this is all there is.
    result = 2
  elseif room <= 0 then
    result = 3
  end
  if result == 1 then
    add[#add + 1] = ARGV[i + 2]
    room = room - 1
  end
  if result < 2 then
    newest = math.max(newest, number)
    if consumer ~= '' then remove[#remove + 1] = job end
  end
  out[#out + 1] = result
  if result == 3 then room = 0 end
end
local function remember(number) redis.call('SET', KEYS[2], string.format('%.0f', number), 'PX', ARGV[2]) end
-- It is tried first: if the writer could not be remembered, letters would be added again and again.
if #add > 0 then remember(last) end
for _, letter in ipairs(add) do redis.call('RPUSH', KEYS[1], letter) end
if newest > last then remember(newest) end
for _, job in ipairs(remove) do redis.call('LREM', KEYS[3], 1, job) end
return out

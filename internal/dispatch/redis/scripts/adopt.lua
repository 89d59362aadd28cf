-- Adopt: puts holds back that somebody remembers.
-- ARGV[2] of each: step, length of the blob (4), blob.
if not fillable() then return lost() end

local ids, blobs = {}, {}
local at = 1
while at <= #ARGV[2] do
  local length = unpacked('>I4', ARGV[2], at + 16)
  ids[#ids + 1] = sub(ARGV[2], at, at + 15)
  blobs[#blobs + 1] = sub(ARGV[2], at + 20, at + 19 + length)
  at = at + 20 + length
end

-- further tells which of two memories of one lease is the later one.
local function further(blob, other)
  local begun, other_begun = number(blob, 53) > 0, number(other, 53) > 0
  if begun ~= other_begun then return begun end
  return number(blob, 61) > number(other, 61)
end

local current = {}
for n, blob in ipairs(fetch(ids)) do current[ids[n]] = blob end
for n, id in ipairs(ids) do
  local blob, there = blobs[n], current[id]
  local token = number(blob, 25)
  local take = true
  if is_held(there) then
    take = number(there, 25) < token or (number(there, 25) == token and further(blob, there))
    if take then unhand({[sub(there, 37, 44)] = {id}}) end
  elseif there then
    take = number(there, 25) < token -- else it was given back since
    if take then unqueue({[sub(there, 1, 8)] = {queued_as(id, there)}}) end
  end
  if take then
    redis.call('HSET', STEPS, id, blob)
    redis.call('ZADD', LEASES, number(blob, 69), id)
    hand({[sub(blob, 37, 44)] = {id}})
    current[id] = blob
  end
end
return #ids

-- Offer: lets steps be claimed, unless they wait or are held already.
-- ARGV[2] step and blob of each; ARGV[3] who offers them; ARGV[4] the channel on
-- which the others hear of it.
if not fillable() then return lost() end

local ids, blobs = {}, {}
for at = 1, #ARGV[2], 16 + OFFERED do
  ids[#ids + 1] = sub(ARGV[2], at, at + 15)
  blobs[#blobs + 1] = sub(ARGV[2], at + 16, at + 15 + OFFERED)
end

local there, values, members = fetch(ids), {}, {}
local seen = {}
for n = 1, #ids do
  local id, blob = ids[n], blobs[n]
  if not there[n] and not seen[id] then
    seen[id] = true
    values[#values + 1] = id
    values[#values + 1] = blob
    append(members, sub(blob, 1, 8), '0', queued_as(id, blob))
  end
end
if #values == 0 then return 0 end

send('HSET', STEPS, values)
local news = {ARGV[3]}
for route, list in pairs(members) do
  send('ZADD', queue_of(route), list)
  redis.call('SADD', ROUTES, route)
  news[#news + 1] = route .. pack('>I4', #list / 2)
end
-- While it is filled nobody can claim.
if ARGV[1] ~= '' and complete() then redis.call('PUBLISH', ARGV[4], concat(news)) end
return #values / 2

-- Offer: lets steps be claimed, unless they wait or are held already.
-- ARGV[2] step and blob of each; ARGV[3] who offers them; ARGV[4] the channel on
-- which the others hear of it.
if not fillable() then return lost() end

local packed, size = ARGV[2], 16 + OFFERED
local ids = {}
for n = 1, #packed / size do
  local at = (n - 1) * size
  ids[n] = sub(packed, at + 1, at + 16)
end

-- This is written out, without the functions of the prelude: to fill Redis means
-- to come here for every step that there is.
local values, members, total, seen = {}, {}, 0, {}
for n, blob in ipairs(fetch(ids)) do
  local id = ids[n]
  if not blob and not seen[id] then
    seen[id] = true
    blob = sub(packed, (n - 1) * size + 17, n * size)
    values[total + 1], values[total + 2] = id, blob
    total = total + 2
    local route = sub(blob, 1, 8)
    local list = members[route]
    if not list then
      list = {n = 0}
      members[route] = list
    end
    list[list.n + 1], list[list.n + 2] = '0', queued_as(id, blob)
    list.n = list.n + 2
  end
end
if total == 0 then return 0 end

send('HSET', STEPS, values)
local news = {ARGV[3]}
for route, list in pairs(members) do
  send('ZADD', queue_of(route), list)
  redis.call('SADD', ROUTES, route)
  news[#news + 1] = route .. pack('>I4', list.n / 2)
end
-- While it is filled nobody can claim.
if ARGV[1] ~= '' and complete() then redis.call('PUBLISH', ARGV[4], concat(news)) end
return total / 2

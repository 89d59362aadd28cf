-- Offer: lets steps be claimed, unless they wait or are held already. What is there
-- from before goes: it waits under an older token, or is held under one that is not newer.
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
local values, places, outdated, total = {}, {}, {}, 0
for n, there in ipairs(fetch(ids)) do
  local id, place = ids[n], places[ids[n]]
  local blob = sub(packed, (n - 1) * size + 17, n * size)
  local have = place and values[place + 1] or there
  local fresh = not have
  if have then
    local token = number(blob, 25)
    fresh = number(have, 25) < token or (is_held(have) and number(have, 25) == token)
    if fresh and not place then outdated[#outdated + 1] = {id, there} end
  end
  if fresh and not place then
    place, total = total + 1, total + 2
    places[id] = place
  end
  if fresh then values[place], values[place + 1] = id, blob end
end
if total == 0 then return 0 end
if #outdated > 0 then take_out(outdated) end

local members = {}
for n = 1, total, 2 do
  local id, blob = values[n], values[n + 1]
  local route = sub(blob, 1, 8)
  local list = members[route]
  if not list then
    list = {n = 0}
    members[route] = list
  end
  list[list.n + 1], list[list.n + 2] = '0', queued_as(id, blob)
  list.n = list.n + 2
end

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

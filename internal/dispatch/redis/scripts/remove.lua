-- Remove: takes steps out that wait, or are held under no newer token.
-- ARGV[2] step and token of each.
if not fillable() then return lost() end

local ids, tokens = {}, {}
for at = 1, #ARGV[2], 24 do
  ids[#ids + 1] = sub(ARGV[2], at, at + 15)
  tokens[#tokens + 1] = number(ARGV[2], at + 16)
end

local gone, members, ended, hands = {}, {}, {}, {}
for n, blob in ipairs(fetch(ids)) do
  local id = ids[n]
  if is_held(blob) then
    if number(blob, 25) <= tokens[n] then
      gone[#gone + 1], ended[#ended + 1] = id, id
      append(hands, sub(blob, 37, 44), id)
    end
  elseif blob then
    gone[#gone + 1] = id
    append(members, sub(blob, 1, 8), queued_as(id, blob))
  end
end
send('HDEL', STEPS, gone)
send('ZREM', LEASES, ended)
unqueue(members)
unhand(hands)
return #gone

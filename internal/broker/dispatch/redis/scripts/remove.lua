-- Remove: takes steps out that wait, or are held under no newer token. ARGV[2] of each:
-- step (16), token (8), key (8), and whether it has left (1): then a hold that was
-- granted from the place with this key goes under whichever token.
if not fillable() then return lost() end

local ids, tokens, left = {}, {}, {}
for at = 1, #ARGV[2], 33 do
  local n = #ids + 1
  ids[n], tokens[n] = sub(ARGV[2], at, at + 15), number(ARGV[2], at + 16)
  left[n] = sub(ARGV[2], at + 32, at + 32) == '\1' and sub(ARGV[2], at + 24, at + 31)
end

local gone = {}
for n, blob in ipairs(fetch(ids)) do
  local id = ids[n]
  if is_held(blob) then
    if number(blob, 25) <= tokens[n] or sub(blob, 9, 16) == left[n] then gone[#gone + 1] = {id, blob} end
  elseif blob then
    gone[#gone + 1] = {id, blob}
  end
end
take_out(gone)
return #gone

-- Missing: which steps are unknown, wait under another key than theirs, or are held
-- under a token that is not newer. ARGV[2] the steps: id (16), last token (8), key (8).
-- Answers with a 0 or 1 for each.
if not complete() then return lost() end

local ids, tokens, keys = {}, {}, {}
for at = 1, #ARGV[2], 32 do
  local n = #ids + 1
  ids[n], tokens[n] = sub(ARGV[2], at, at + 15), number(ARGV[2], at + 16)
  keys[n] = sub(ARGV[2], at + 24, at + 31)
end
local flags = {}
for n, blob in ipairs(fetch(ids)) do
  local known
  if is_held(blob) then
    known = number(blob, 25) > tokens[n]
  else
    known = blob and sub(blob, 9, 16) == keys[n]
  end
  flags[n] = known and 0 or 1
end
return concat(flags)

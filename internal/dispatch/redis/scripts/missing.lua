-- Missing: which steps are unknown, or held under a token that is not newer than
-- theirs. ARGV[2] the steps: id (16), last token (8). Answers with a 0 or 1 for each.
if not complete() then return lost() end

local ids, tokens = {}, {}
for at = 1, #ARGV[2], 24 do
  ids[#ids + 1], tokens[#tokens + 1] = sub(ARGV[2], at, at + 15), number(ARGV[2], at + 16)
end
local flags = {}
for n, blob in ipairs(fetch(ids)) do
  local known = blob and not (is_held(blob) and number(blob, 25) <= tokens[n])
  flags[n] = known and 0 or 1
end
return concat(flags)

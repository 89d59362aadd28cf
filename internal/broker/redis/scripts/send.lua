#!lua
-- Adds messages to the end of a list or a stream. Of each that has a mark it is remembered for some time that it was
-- sent, so that a second time adds nothing; that begins the time anew. The mark is set first and removed again after a
-- failure: no error between the two leaves a message without its mark.
--
-- KEYS: list or stream, marks
-- ARGV: LPUSH, RPUSH, XADD (creates the stream), or XADD NOMKSTREAM; milliseconds to remember; for each message its
-- mark or '', the number of its parts, and the parts: the payload, or names and values of fields
-- Returns how many messages are there now, and the error of the next one or ''.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now - ARGV[2]))
local function failed(answer) return not answer or type(answer) == 'table' and answer.err end
local stream = ARGV[1] ~= 'LPUSH' and ARGV[1] ~= 'RPUSH'
local done, at, marked = 0, 3, false
local payloads, marks, first = {}, {}, 0 -- of a list: what is new goes there at once; first is how many are before it
while at <= #ARGV do
  local mark, n = ARGV[at], tonumber(ARGV[at + 1])
  if mark == '' or redis.call('ZADD', KEYS[2], now, mark) == 1 then
    if not stream then
      if #payloads == 0 then first = done end
      payloads[#payloads + 1] = ARGV[at + 2]
      if mark ~= '' then marks[#marks + 1] = mark end
    else
      local answer
      if ARGV[1] == 'XADD' then
        answer = redis.pcall('XADD', KEYS[1], '*', unpack(ARGV, at + 2, at + 1 + n))
      else
        answer = redis.pcall('XADD', KEYS[1], 'NOMKSTREAM', '*', unpack(ARGV, at + 2, at + 1 + n))
      end
      if failed(answer) then
        if mark ~= '' then redis.call('ZREM', KEYS[2], mark) end
        return {done, answer and answer.err or 'NOSTREAM there is no such stream'}
      end
    end
  end
  marked = marked or mark ~= ''
  done = done + 1
  at = at + 2 + n
end
if #payloads > 0 then
  local answer = redis.pcall(ARGV[1], KEYS[1], unpack(payloads))
  if failed(answer) then
    if #marks > 0 then redis.call('ZREM', KEYS[2], unpack(marks)) end
    return {first, answer.err}
  end
end
if marked then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return {done, ''}

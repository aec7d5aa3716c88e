-- Adds output to a run's log: the first bytes stay, and of the rest the last ones.
-- The end may grow to twice what is shown of it before it is cut, so that a long log is not copied
-- with every line.
-- KEYS: head, tail, meta. ARGV: data, bytes kept of each half, name of this call, seconds to keep.
if redis.call('HGET', KEYS[3], 'call') == ARGV[3] then
  return 0
end
local half = tonumber(ARGV[2])
local room = half - redis.call('STRLEN', KEYS[1])
local rest = ARGV[1]
if room > 0 then
  redis.call('APPEND', KEYS[1], string.sub(rest, 1, room))
  rest = string.sub(rest, room + 1)
end
if #rest > 0 then
  local length = redis.call('APPEND', KEYS[2], rest)
  if length > 2 * half then
    redis.call('SET', KEYS[2], redis.call('GETRANGE', KEYS[2], -half, -1))
    redis.call('HINCRBY', KEYS[3], 'cut', length - half)
  end
end
redis.call('HSET', KEYS[3], 'call', ARGV[3])
for _, key in ipairs(KEYS) do
  redis.call('EXPIRE', key, ARGV[4])
end
return 1

-- Marks a topic as told; true for the call that made the mark, also when that call is repeated.
-- KEYS: topic. ARGV: name of this call, seconds to keep the mark.
local by = redis.call('GET', KEYS[1])
if by then
  return by == ARGV[1] and 1 or 0
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1

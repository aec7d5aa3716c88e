-- Counts that a piece of work begins; the first beginning decides when the count is forgotten.
-- KEYS: counter. ARGV: seconds to keep it.
local count = redis.call('INCR', KEYS[1])
if count == 1 then
  redis.call('EXPIRE', KEYS[1], ARGV[1])
end
return count

-- Takes a lease under a new generation; while somebody else holds it, notes that it is wanted.
-- A repeat of the same call gets the lease it took.
-- KEYS: holder, generation. ARGV: token, milliseconds, purpose.
local holder = redis.call('HMGET', KEYS[1], 'token', 'generation')
if holder[1] == ARGV[1] then
  return tonumber(holder[2])
end
if holder[1] then
  redis.call('HSET', KEYS[1], 'wanted', 1)
  return false
end
local generation = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'generation', generation, 'purpose', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return generation

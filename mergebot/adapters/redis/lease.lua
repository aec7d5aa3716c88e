-- Takes a lease under a new generation, or nothing while somebody holds it; a repeat of the same
-- call gets the lease it took.
-- KEYS: holder, generation. ARGV: token, milliseconds, purpose.
local holder = redis.call('HMGET', KEYS[1], 'token', 'generation')
if holder[1] then
  return holder[1] == ARGV[1] and tonumber(holder[2]) or false
end
local generation = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'generation', generation, 'purpose', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return generation

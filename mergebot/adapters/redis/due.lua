-- The effects whose time has come, the longest waiting first.
-- KEYS: due, effects. ARGV: now, limit.
local found = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do
  found[#found + 1] = redis.call('HGET', KEYS[2], name)
end
return found

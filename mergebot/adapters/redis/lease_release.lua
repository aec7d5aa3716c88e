-- Ends a lease if it is still the caller's, and tells whether somebody wanted it meanwhile.
-- KEYS: holder. ARGV: token.
local holder = redis.call('HMGET', KEYS[1], 'token', 'wanted')
if holder[1] ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
return holder[2] and 1 or 0

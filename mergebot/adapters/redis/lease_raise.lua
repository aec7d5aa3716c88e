-- Raises the counter of holders to a number, never lowers it.
-- KEYS: generation. ARGV: number.
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1])
end
return 1

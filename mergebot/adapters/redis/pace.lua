-- Takes some writes out of an account's minute and returns 0, or takes none and returns for how many
-- milliseconds to wait. The minute slides, by the server's own clock. A repeat takes nothing more.
-- KEYS: writes. ARGV: name of this call, writes, most in a minute, milliseconds of the minute.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if redis.call('ZSCORE', KEYS[1], ARGV[1] .. '1') then
  return 0
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[4]))
if redis.call('ZCARD', KEYS[1]) + tonumber(ARGV[2]) > tonumber(ARGV[3]) then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return math.max(1, tonumber(oldest[2]) + tonumber(ARGV[4]) - now)
end
for each = 1, tonumber(ARGV[2]) do
  redis.call('ZADD', KEYS[1], now, ARGV[1] .. each)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 0

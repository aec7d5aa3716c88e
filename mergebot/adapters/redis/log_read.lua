-- A run's log as of one moment.
-- KEYS: head, tail, meta.
return {redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]), redis.call('HGET', KEYS[3], 'cut')}

"""The scripts of the shared state, each of which Redis runs in one step.

Each runs atomically on the server and by the server's clock, so that the clocks of the hosts need not agree. All keys
of a script bear one hash tag, so that they lie together in a cluster. The first key says by which version of the SDK
they are laid out.
"""

from __future__ import annotations

VERSION = "1"

VERSION_CHECK = f"""
local version = redis.call('GET', KEYS[1])
if not version then
    redis.call('SET', KEYS[1], '{VERSION}')
elseif version ~= '{VERSION}' then
    return redis.error_reply('CMSAPI ' .. version .. ' {VERSION}')
end
"""

_NOW = (
    VERSION_CHECK
    + """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
)

# KEYS: version, journal, leases, owners, alive. ARGV: owner, the owner as text, life in ms.
_SEND_HEARTBEAT = (
    _NOW
    + """
redis.call('HSET', KEYS[4], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[5], now + ARGV[3], ARGV[1])
"""
)

# Changes an entry if it stands as it must; returns how it stood, and what was found (see `State`).
# KEYS: …, outcomes of the batch. ARGV: …, key, lease, how it must stand, action, entry or outcome or '', item or '',
# a holder that counts as none or ''.
CHANGE = (
    _SEND_HEARTBEAT
    + """
local key, mine, expected, action, text, item = ARGV[4], ARGV[5] .. ' ' .. ARGV[1], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local found, holder = redis.call('HGET', KEYS[2], key), redis.call('HGET', KEYS[3], key)
local stood = 'free'
if not found then
    found = item ~= '' and redis.call('HGET', KEYS[6], item)
    stood = found and 'ended' or 'absent'
elseif holder == mine then
    stood = 'mine'
elseif holder then
    local owner = string.match(holder, ' (.*)')
    local alive = owner and redis.call('ZSCORE', KEYS[5], owner)
    if holder == ARGV[10] then alive = false end
    if alive and tonumber(alive) > now then stood = 'held' end
end
if stood ~= expected then return { stood, found or '', holder or '' } end
if action == 'hold' then
    if text ~= '' then redis.call('HSET', KEYS[2], key, text) end
    redis.call('HSET', KEYS[3], key, mine)
elseif action == 'release' then
    redis.call('HDEL', KEYS[3], key)
else
    redis.call('HDEL', KEYS[2], key)
    redis.call('HDEL', KEYS[3], key)
    if item ~= '' then redis.call('HSET', KEYS[6], item, text) end
end
return { stood, found or '', holder or '' }
"""
)

HEARTBEAT = (
    _SEND_HEARTBEAT
    + """
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now)) do
    redis.call('HDEL', KEYS[4], gone)
    redis.call('ZREM', KEYS[5], gone)
end
return redis.call('HVALS', KEYS[4])
"""
)

# KEYS: version, owners, alive.
ALIVE = (
    _NOW
    + """
local alive = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. now, '+inf')
return #alive > 0 and redis.call('HMGET', KEYS[2], unpack(alive)) or {}
"""
)

# KEYS: version, owners, alive. ARGV: owner.
EVICT = (
    VERSION_CHECK
    + """
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
"""
)

# KEYS: version, documents. ARGV: name, old or '', new or ''.
COMPARE_AND_SET = (
    VERSION_CHECK
    + """
local stands = redis.call('HGET', KEYS[2], ARGV[1]) or ''
if stands ~= ARGV[2] then return stands end
if ARGV[3] == '' then
    redis.call('HDEL', KEYS[2], ARGV[1])
else
    redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
end
return ARGV[3]
"""
)

_LIMITS = (
    VERSION_CHECK
    + """
local found = redis.pcall('HMGET', KEYS[2], 'version', 'document')
if found.err or string.find((found[1] or '') .. (found[2] or ''), '[\\128-\\255]') then
    redis.call('DEL', KEYS[2])
    found = {}
end
local function now()
    local time = redis.call('TIME')
    return { found[1] or '', found[2] or '', time[1] .. '.' .. string.format('%06d', time[2]) }
end
"""
)

# KEYS: version, limits, next writer.
READ_LIMITS = _LIMITS + "return now()"

# Writes unless another process wrote meanwhile, or was promised to write next. A process that comes too late is
# promised that, for a moment: otherwise one that is far from the server would hardly ever be in time.
# KEYS: as above. ARGV: version that was read, new version, new document, life of it in s, life of a promise in ms.
WRITE_LIMITS = (
    _LIMITS
    + """
if found[1] == ARGV[2] then return false end
local first = redis.call('GET', KEYS[3])
if (found[1] or '') == ARGV[1] and (not first or first == ARGV[2]) then
    redis.call('HSET', KEYS[2], 'version', ARGV[2], 'document', ARGV[3])
    redis.call('EXPIRE', KEYS[2], ARGV[4])
    if first then redis.call('DEL', KEYS[3]) end
    return false
end
if not first then redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[5]) end
return now()
"""
)

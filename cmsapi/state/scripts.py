"""The two scripts of the shared state: Redis runs each in one step, by the server's clock.

The first one locks rows and reads, the second one writes if the locks still are those of its transaction. All keys of a
script bear one hash tag, so that they lie together in a cluster. The first key says by which version of the SDK they
are laid out.
"""

from __future__ import annotations

VERSION = "2"

# A transaction has ended of which a lock says "done".
_VERSION_AND_LOCKS = f"""
local version = redis.call('GET', KEYS[1])
if not version then
    redis.call('SET', KEYS[1], '{VERSION}')
elseif version ~= '{VERSION}' then
    return redis.error_reply('CMSAPI ' .. version .. ' {VERSION}')
end
local mine, locks = ARGV[1], tonumber(ARGV[2])
local first = locks + 2
"""

# KEYS: version, locks, a hash for each of what is read.
# ARGV: the transaction, number of locks, life of a lock in ms, and for each of what is read: what of it ("row", "rows",
# or "unsure" for a row that is as good as lost when it cannot be read), field.
# Returns nothing while another transaction has a lock, else the time in microseconds and what was found.
LOCK_AND_READ = (
    _VERSION_AND_LOCKS
    + """
for index = 2, locks + 1 do
    local owner = redis.call('GET', KEYS[index])
    if owner and owner ~= mine and string.sub(owner, 1, 4) ~= 'done' then return false end
end
for index = 2, locks + 1 do redis.call('SET', KEYS[index], mine, 'PX', ARGV[3]) end
local found = {}
for index = first, #KEYS do
    local what, field = ARGV[2 * (index - first) + 4], ARGV[2 * (index - first) + 5]
    if what == 'rows' then
        found[#found + 1] = redis.call('HGETALL', KEYS[index])
    else
        local row = redis.pcall('HMGET', KEYS[index], field)
        if what == 'unsure' and (row.err or string.find(row[1] or '', '[\\128-\\255]')) then
            redis.call('DEL', KEYS[index])
            row = { false }
        end
        if row.err then return row end
        found[#found + 1] = row
    end
end
local time = redis.call('TIME')
return { time[1] .. string.format('%06d', time[2]), found }
"""
)

# KEYS: version, locks, a hash for each row that is written.
# ARGV: the transaction, number of locks, and for each row: field, values or "" to delete it, seconds to keep it or "".
# Returns whether it is written; it is not when another transaction has taken a lock over.
WRITE_AND_UNLOCK = (
    _VERSION_AND_LOCKS
    + """
for index = 2, locks + 1 do
    local owner = redis.call('GET', KEYS[index])
    if owner == 'done ' .. mine then return 1 end
    if owner ~= mine then return 0 end
end
local argument = 3
for index = first, #KEYS do
    local field, values, seconds = ARGV[argument], ARGV[argument + 1], ARGV[argument + 2]
    argument = argument + 3
    if values == '' then
        redis.call('HDEL', KEYS[index], field)
    else
        redis.call('HSET', KEYS[index], field, values)
        if seconds ~= '' then redis.call('EXPIRE', KEYS[index], seconds) end
    end
end
for index = 2, locks + 1 do redis.call('SET', KEYS[index], 'done ' .. mine, 'KEEPTTL') end
return 1
"""
)

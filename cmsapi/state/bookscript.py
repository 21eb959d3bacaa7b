"""What Redis does in one step to the book of an account: `PermitAllocator.turn`, line by line."""

from __future__ import annotations

from cmsapi.ratelimit.allocator import (
    ABSENCE,
    CERTAIN,
    FAR,
    FIRST_ANSWER,
    GRACE,
    LATEST,
    LONGEST_REST,
    LOOK_AGAIN,
    REST,
    STEP,
)
from cmsapi.ratelimit.exchange import PARTS
from cmsapi.ratelimit.ring import NEVER
from cmsapi.state.scripts import VERSION_CHECK

_CONSTANTS = f"""
local NEVER, STEP, GRACE, LONGEST_REST = {NEVER}, {STEP}, {GRACE}, {LONGEST_REST}
local LOOK_AGAIN, FIRST_ANSWER, PARTS, CERTAIN = {LOOK_AGAIN}, {FIRST_ANSWER}, {PARTS}, {CERTAIN}
local FAR, LATEST, ABSENCE, REST = {FAR}, {LATEST}, {ABSENCE}, {REST}
"""

# Takes a turn. When what is stored makes no sense, `sound` is false afterwards and what is returned means nothing.
_TAKE = """
local name, number, held, heard = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local rest, want, priority = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local per_second, per_hour = tonumber(ARGV[8]), tonumber(ARGV[9])
local second, hour, cap, life = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local epoch = tonumber(ARGV[14])
local certainly = hour * CERTAIN
local seen_at, ages_at = 15, 21

local function read(command, ...)
    local said = redis.pcall(command, ...)
    if type(said) ~= 'table' or not said.err then return said end
    sound = false
    return {}
end
local function number_in(text)
    local value = tonumber(text)
    if value and value >= -NEVER and value <= NEVER then return value end
    sound = false
    return 0
end

local book = {
    settled = 0, left = 0, certain = 0, latest = -NEVER, time = -NEVER, ahead = 0, known = 0, limit = -1,
    foreign = 0, foreign_leaves = NEVER, foreign_gone = NEVER, tries_at = NEVER, tries_every = 0,
    rests_until = -NEVER, epoch = 0, holders = 0,
}
local stored = read('HGETALL', KEYS[2])
for i = 1, #stored, 2 do book[stored[i]] = number_in(stored[i + 1]) end
local holders = {}
stored = read('HGETALL', KEYS[4])
if #stored ~= 2 * book.holders or read('LLEN', KEYS[3]) ~= book.settled - book.left then sound = false end
local far = book.time + FAR
for i = 1, #stored, 2 do
    local said = {}
    for word in string.gmatch(stored[i + 1], '%S+') do said[#said + 1] = number_in(word) end
    if #said ~= 8 or said[3] < 0 or said[4] < 0 or math.max(said[2], said[6], said[8]) > far then sound = false end
    holders[stored[i]] = {
        number = said[1], expires = said[2], out = said[3], want = said[4], priority = said[5], since = said[6],
        got = said[7], kept = said[8],
    }
end

if book.left < 0 or book.left > book.settled or book.latest > book.time or book.time > LATEST
    or math.min(book.ahead, book.tries_every) < 0 or book.rests_until > far
    or book.foreign < 0 or (book.foreign > 0 and (book.foreign > book.limit or book.foreign_gone > far)) then
    sound = false
end
if not sound then return end

local time = redis.call('TIME')
local before, now = book.time, tonumber(time[1]) + tonumber(time[2]) / 1e6 + book.ahead
if now < book.time - STEP then
    book.ahead = book.ahead + book.time - now
    now = book.time
end
book.time = math.max(book.time, now)
if book.epoch == 0 then book.epoch = math.floor(now * 1000) end
local strange = epoch ~= 0 and epoch ~= book.epoch

local function settled_at(text)
    local at = number_in(text)
    -- What is stored is rounded.
    if at > book.latest + 1e-5 then sound = false end
    return at
end
local function newest(back)
    local at = redis.call('LINDEX', KEYS[3], -1 - back)
    return at and settled_at(at) or -NEVER
end
local function oldest(index)
    local at = redis.call('LINDEX', KEYS[3], index)
    return at and settled_at(at) or NEVER
end
local function settle(at)
    book.latest = math.max(book.latest, at)
    redis.call('RPUSH', KEYS[3], string.format('%.6f', book.latest))
    book.settled = book.settled + 1
end
local function out()
    local sum = 0
    for _, each in pairs(holders) do sum = sum + each.out end
    return sum
end

-- The dead
local dead = {}
for each, holder in pairs(holders) do
    if holder.expires + cap <= now then dead[#dead + 1] = each end
end
table.sort(dead, function(one, other) return holders[one].expires < holders[other].expires end)
for _, each in ipairs(dead) do
    for _ = 1, holders[each].out do settle(holders[each].expires + cap) end
    holders[each] = nil
    redis.call('HDEL', KEYS[4], each)
end

-- The hour
while true do
    local times, gone = redis.call('LRANGE', KEYS[3], 0, 99), 0
    while gone < #times and settled_at(times[gone + 1]) <= now - hour do gone = gone + 1 end
    if gone > 0 then redis.call('LPOP', KEYS[3], gone) end
    book.left = book.left + gone
    if gone < 100 then break end
end
if book.foreign > 0 then
    if now >= book.foreign_gone then
        book.foreign = 0
    elseif now >= book.foreign_leaves then
        book.foreign = book.foreign - 1
        book.foreign_leaves = NEVER
    end
end

-- Who rests
local function rest_until(at) book.rests_until = math.max(book.rests_until, at) end
local busy, limited = false, per_second >= 0 or per_hour >= 0
for each, holder in pairs(holders) do
    if each ~= name and (holder.out > 0 or holder.want > 0) then busy = true end
end
if rest > 0 then rest_until(now + rest) end
if limited and now - before > math.max(ABSENCE * life, LONGEST_REST + GRACE) and busy then rest_until(now + REST) end
if limited and (strange or reset == 1) then rest_until(book.epoch / 1000 + life) end

-- What the holder reports
local mine = holders[name]
if not mine then
    mine = { number = 0, expires = 0, out = 0, want = 0, priority = 0, since = 0, got = 0, kept = 0 }
    holders[name] = mine
end
if number > mine.number then
    if ARGV[seen_at] ~= '' and per_hour >= 0 and not strange then
        local said = {}
        for i = seen_at, ages_at - 1 do said[#said + 1] = tonumber(ARGV[i]) end
        local limit, remaining, reset_in, age, settled, left = unpack(said)
        book.limit = limit
        book.tries_every = reset_in + second
        book.tries_at = now - age + book.tries_every
        local counted = limit - remaining
        local at_least = counted - out() - (book.settled - left)
        if at_least > book.foreign then
            book.foreign = at_least
        elseif book.foreign > 0 then
            book.certain = math.max(book.certain, book.left)
            while book.certain < book.settled and oldest(book.certain - book.left) + certainly <= now do
                book.certain = book.certain + 1
            end
            local at_most = counted - math.max(0, settled - book.certain) - 1
            book.foreign = math.max(0, at_least, math.min(book.foreign, at_most))
        end
        if book.foreign > 0 then
            local leaves = now - age + reset_in + second
            book.foreign_leaves = leaves < oldest(0) + certainly and leaves or NEVER
            book.foreign_gone = now + hour
        end
    end
    for i = ages_at, #ARGV do settle(now - tonumber(ARGV[i])) end
    if #ARGV >= ages_at and book.tries_at == NEVER then book.tries_at = now + book.tries_every end
    if heard and not strange then book.known = 1 end
end
mine.number, mine.out, mine.expires = number, held, now + life

-- What it gets
local function used()
    return out() + book.settled - book.left + book.foreign
end
local function of_hour()
    if per_hour < 0 then return NEVER end
    return (book.limit >= 0 and math.min(per_hour, book.limit) or per_hour) - used()
end
local function full_by_hearsay()
    return book.limit >= 0 and book.limit < per_hour and used() >= book.limit and used() - book.foreign < per_hour
end
local function free()
    if now < book.rests_until then return 0 end
    local least = now >= book.tries_at and full_by_hearsay() and 1 or of_hour()
    if per_second >= 0 then
        local room, inside = per_second - out(), 0
        while inside < room and newest(inside) + second > now do inside = inside + 1 end
        least = math.min(least, room - inside)
    end
    if book.known == 0 and limited then least = math.min(least, 1 - out()) end
    return least
end
local function own(count)
    return count > 0 and oldest(count - 1) + hour or -NEVER
end
local function hour_returns(count)
    local back = own(count)
    if book.foreign > 0 then
        back = math.min(back, math.max(own(count - 1), book.foreign_leaves))
        back = math.min(back, math.max(own(count - book.foreign), book.foreign_gone))
    end
    return back
end
local function wait_for(need)
    local wait = book.rests_until - now
    if book.known == 0 then wait = math.max(wait, FIRST_ANSWER * second) end
    if per_second >= 0 then
        local may_stay = per_second - out() - need
        wait = math.max(wait, may_stay >= 0 and newest(may_stay) + second - now or LOOK_AGAIN * second)
    end
    if of_hour() < need then
        local back = hour_returns(need - of_hour()) - now
        wait = math.max(wait, back < NEVER / 2 and back or LOOK_AGAIN * second)
    end
    return math.max(wait, 0)
end

if mine.want == 0 or mine.kept <= now then mine.since, mine.got = now, 0 end
mine.want, mine.priority = want, priority
local granted, wait = 0, 0
if want > 0 then
    local waiting = {}
    for each, holder in pairs(holders) do
        if each ~= name and holder.want > 0 and holder.kept > now then waiting[#waiting + 1] = holder end
    end
    local share = mine.got + want
    if #waiting > 0 and per_second >= 0 then share = math.max(1, math.floor(per_second / (#waiting + 1))) end
    local ahead = 0
    for _, each in ipairs(waiting) do
        if each.priority < priority or (each.priority == priority and each.since < mine.since) then
            ahead = ahead + math.max(0, math.min(each.want, share - each.got))
        end
    end
    granted = math.max(0, math.min(want, math.max(1, share - mine.got), free() - ahead))
    if granted == 0 then wait = wait_for(ahead + 1) end
    if granted > 0 and book.limit >= 0 and used() + granted >= book.limit then book.tries_at = NEVER end
    mine.out = mine.out + granted
    mine.want = want - granted
    mine.got = mine.got + granted
    if mine.got >= share then mine.since, mine.got = now, 0 end
    mine.kept = now + math.min(wait, LONGEST_REST) + GRACE
end

if not sound then return end
local words = {}
book.holders = 0
for _ in pairs(holders) do book.holders = book.holders + 1 end
for key, value in pairs(book) do
    words[#words + 1] = key
    words[#words + 1] = string.format(value == math.floor(value) and '%.0f' or '%.6f', value)
end
redis.call('HSET', KEYS[2], unpack(words))
redis.call('HSET', KEYS[4], name, string.format('%d %.6f %d %d %d %.6f %d %.6f',
    mine.number, mine.expires, mine.out, mine.want, mine.priority, mine.since, mine.got, mine.kept))
for i = 2, 4 do redis.call('EXPIRE', KEYS[i], math.ceil(2 * hour + life)) end
local count, returns = book.settled - book.left, {}
if count > 0 and per_hour >= 0 then
    for part = 0, PARTS do
        local ends = math.floor(math.max(0, part * count - 1) / PARTS)
        returns[part + 1] = oldest(ends) + hour - now
    end
    if full_by_hearsay() then returns[1] = math.min(returns[1], math.max(0, book.tries_at - now)) end
    for part, each in ipairs(returns) do returns[part] = string.format('%.6f', each) end
end
return {
    granted, string.format('%.6f', wait), string.format('%.6f', now), book.settled, book.left, out(),
    used(), book.limit, book.foreign, returns, book.epoch, reset,
}
"""

# KEYS: version, book, ring, holders. ARGV: as in `RedisState.turn`.
TURN = (
    VERSION_CHECK
    + _CONSTANTS
    + f"""
local sound, reset = true, 0
local function take()
{_TAKE}
end
local grant = take()
if not sound then
    sound, reset = true, 1
    redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
    grant = take()
end
return grant
"""
)

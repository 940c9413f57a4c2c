-- kept_report is what the owner said last of its pushes, from the key it is kept at: ms since it was said, JSON; nil when
-- there is nothing, or it is by a newer Postrider.
local function kept_report(key)
  local said, till, text = string.match(redis.call('GET', key) or '', '^' .. FORMAT .. ' (%d+) (%d+) (.*)$')
  if said and now < tonumber(till) then
    return {math.max(0, now - tonumber(said)), text}
  end
end

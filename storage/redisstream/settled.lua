-- settled ends a step that took outstanding messages, counted under a name. keyed tells whether some had a key, so that others
-- may have become due; before is next_due from before.
local function settled(gone, counter, keyed, before)
  local places = false
  if #gone > 0 then
    forget(gone)
    count(counter, #gone)
    settle_floor()
    places = freed()
  end
  save_queues()
  save()
  announce_due(before, keyed and next_due() or nil, urgent or places)
end

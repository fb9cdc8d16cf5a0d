-- Sends one POST again and again, and counts every answer that lacks what it should hold. Prints one line of JSON.
-- With LOAD_SESSIONS, ids of MCP's sessions, each message goes to the next session and has an id in the place of "$ID",
-- which its answer must have, too.
wrk.method = "POST"
wrk.body = os.getenv("LOAD_BODY")
wrk.headers["content-type"] = "application/json"
local wanted = os.getenv("LOAD_WANTED")
local threads = {}
local asked = {}
wrong = 0
example = ""

local sessions = {}
for session in string.gmatch(os.getenv("LOAD_SESSIONS") or "", "%S+") do
  table.insert(sessions, session)
end
if #sessions > 0 then
  local before, after = string.match(wrk.body, '^(.*)"$ID"(.*)$')
  local last = 0
  wrk.headers["accept"] = "application/json, text/event-stream"
  request = function()
    last = last + 1
    asked[last] = true
    wrk.headers["mcp-session-id"] = sessions[last % #sessions + 1]
    return wrk.format(nil, nil, nil, before .. last .. after)
  end
end

-- Every answer is to one message, which has no other.
local function expected(body)
  if #sessions == 0 then return true end
  local id = tonumber(string.match(body, '"id":(%d+)'))
  local known = id ~= nil and asked[id]
  if known then asked[id] = nil end
  return known
end

function setup(thread)
  table.insert(threads, thread)
end

function response(status, _, body)
  if status ~= 200 or not string.find(body, wanted, 1, true) or not expected(body) then
    wrong = wrong + 1
    example = body
  end
end

function done(summary, latency)
  local bad, said = 0, ""
  for _, thread in ipairs(threads) do
    bad = bad + thread:get("wrong")
    said = thread:get("example")
  end
  local lost = summary.errors
  io.write(string.format(
    '\n{"answers":%d,"us":%d,"wrong":%d,"lost":%d,"p50":%.3f,"p99":%.3f}\n%s',
    summary.requests, summary.duration, bad, lost.connect + lost.read + lost.write + lost.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, said
  ))
end

-- Sends one POST again and again, and counts every answer that lacks what it should hold. Prints one line of JSON.
wrk.method = "POST"
wrk.body = os.getenv("LOAD_BODY")
wrk.headers["content-type"] = "application/json"
local wanted = os.getenv("LOAD_WANTED")
local threads = {}
wrong = 0
example = ""

function setup(thread)
  table.insert(threads, thread)
end

function response(status, _, body)
  if status ~= 200 or not string.find(body, wanted, 1, true) then
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

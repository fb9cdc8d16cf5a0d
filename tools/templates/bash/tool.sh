#!/usr/bin/env bash
# Starting point for a tool in bash. Copy the folder, change definition and tool_execute, register it.
#
# One JSON-RPC 2.0 request a line on stdin, one answer a line on stdout, anything else on stderr (docs/tools/protocol.md).
# json.bash beside this file reads and writes the JSON: no jq, no fork, no eval. Its head says what keeps it safe.
here=${BASH_SOURCE[0]%"${0##*/}"}
source "${here:-./}json.bash" || exit 1

# One line of JSON. Agents read the descriptions; Toolkeeper checks every call against the bounds.
# The name must equal the one in tool.json.
read -r -d '' definition <<'JSON'
{"name":"my_bash_tool","description":"Say in one or two sentences what the tool does, for which questions an agent should call it, and what it answers.","version":"1.0.0","inputSchema":{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":1000,"description":"What to look for.","examples":["pods"]},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"How many results to return at most."}},"required":["query"],"additionalProperties":false}}
JSON

# Cheap and quick: is what the tool needs there? status: healthy, degraded or unhealthy.
tool_health() {
  reply_result '{"status":"healthy"}'
}

# The tool's work: KIND and VALUE hold the request, one reply_result or reply_error ends it.
# -32602 is the caller's mistake and never counted against the tool, -32001 is the tool's failure.
tool_execute() {
  local query=${VALUE['#/params/input/query']-} limit=${VALUE['#/params/input/limit']-10} items='' number
  only_members query limit || return
  # The same rules as in the schema: whoever runs this file without Toolkeeper gets them too.
  # Here 1000 are bytes: a character takes up to four.
  if [[ ${KIND['#/params/input/query']-} != string || -z $query ]] || ((${#query} > 4000)); then
    reply_error -32602 'query must be a string of 1 to 1000 characters'
    return
  fi
  if [[ ! $limit =~ ^([1-9][0-9]?|100)$ || ${KIND['#/params/input/limit']-number} != number ]]; then
    reply_error -32602 'limit must be a whole number from 1 to 100'
    return
  fi
  if [[ $query == fail ]]; then
    json_quote "$query"
    reply_error -32001 'This is how a failure is told' "{\"query\":$REPLY}"
    return
  fi
  # To run another program: output=$(some-program -- "$query" 2>&1 3>&- 4<&-), then json_quote "$output".
  for ((number = 1; number <= limit; number++)); do
    json_quote "Result $number for $query"
    items+="${items:+,}{\"id\":$number,\"title\":$REPLY}"
    progress "$number" "$limit" # seen by callers that follow the call; leave it out where a call is quick
  done
  reply_result "{\"items\":[$items],\"count\":$limit}"
}

serve

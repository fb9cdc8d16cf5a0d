#!/usr/bin/env bash
# Runs the tool as Toolkeeper does; no server is needed: bash test.sh
cd "${BASH_SOURCE[0]%"${0##*/}"}." || exit 1
failed=0

# expect WHAT METHOD PARAMS TEXT: the tool's answer to one request has this text in it.
expect() {
  local answer
  answer=$(printf '{"jsonrpc":"2.0","id":"1","method":"%s","params":%s}\n' "$2" "$3" | bash tool.sh 2>&1)
  if [[ $answer == *"$4"* ]]; then
    echo "ok   $1"
  else
    echo "FAIL $1: no $4 in $answer"
    failed=1
  fi
}
call() { expect "$1" execute "{\"input\":$2,\"context\":{\"timeout\":10000}}" "$3"; }

[[ $(<tool.json) =~ \"name\":\ *(\"[^\"]*\") ]]
expect 'introduces itself by the name that is registered' initialize '{"protocolVersion":"1.0"}' "\"name\":${BASH_REMATCH[1]}"
expect 'is healthy' health '{}' '"status":"healthy"'
call 'answers' '{"query":"pods","limit":2}' '"count":2'
call 'refuses an input without a query' '{}' '"code":-32602'
call 'refuses a limit out of bounds' '{"query":"pods","limit":0}' '"code":-32602'
call 'tells its self-reported error' '{"query":"fail"}' '"code":-32001'
exit "$failed"

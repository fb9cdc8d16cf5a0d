# JSON and the wire protocol in pure bash (4.3 or newer): no jq, no fork, no eval. Source it, define `definition`
# (a JSON object on one line), tool_health and tool_execute, then call serve. An author need not change this file.
#
# A request is flattened into two maps keyed by JSON pointer:
#   KIND['#/params/input/path']   object, array, string, number, true, false or null; absent: no such member
#   VALUE['#/params/input/path']  the decoded text (objects and arrays: how many members they have)
#
# Safe with hostile input, as long as the rules below are kept by who changes it:
#   - quote every expansion; never pass input to eval, bash -c, let, declare or printf's format;
#   - never put input between (( )) or into [[ -v ]], unset or printf -v names: bash evaluates subscripts there.
#     Compare with a regex first ([[ $n =~ ^[0-9]{1,9}$ ]]), then calculate with 10#$n.

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 403)); then
  echo "bash 4.3 or newer is needed, this is $BASH_VERSION" >&2
  exit 1
fi
LC_ALL=C # bytes, not characters: fast, and UTF-8 passes through as it is
shopt -u patsub_replacement 2>/dev/null || true
declare -A KIND VALUE
readonly JSON_MAX_BYTES=65536 JSON_MAX_DEPTH=32

# json_parse LINE: fills KIND and VALUE; fails with the reason in JSON_PROBLEM when LINE is not one JSON value.
json_parse() {
  KIND=() VALUE=() JSON_PROBLEM='' JSON_REST=$1 JSON_ID=null
  ((${#1} <= JSON_MAX_BYTES)) || json_fail "more than $JSON_MAX_BYTES bytes" || return
  json_value '#' 0 || return
  json_skip
  [[ -z $JSON_REST ]] || json_fail 'text after the value'
}

json_fail() {
  JSON_PROBLEM="$1, ${#JSON_REST} bytes before the end"
  return 1
}

json_skip() {
  [[ $JSON_REST =~ ^[$' \t\r']+ ]] && JSON_REST=${JSON_REST:${#BASH_REMATCH[0]}}
  return 0
}

# json_value POINTER DEPTH: takes one value from the front of JSON_REST.
json_value() {
  local number='^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?' word='^(true|false|null)'
  json_skip
  case $JSON_REST in
    '{'*) json_members "$1" "$2" object '}' || return ;;
    '['*) json_members "$1" "$2" array ']' || return ;;
    '"'*)
      json_string || return
      KIND[$1]=string VALUE[$1]=$REPLY
      ;;
    *)
      if [[ $JSON_REST =~ $number ]]; then
        KIND[$1]=number
      elif [[ $JSON_REST =~ $word ]]; then
        KIND[$1]=${BASH_REMATCH[0]}
      else
        json_fail 'not a JSON value' || return
      fi
      VALUE[$1]=${BASH_REMATCH[0]}
      JSON_REST=${JSON_REST:${#BASH_REMATCH[0]}}
      ;;
  esac
}

# json_members POINTER DEPTH object|array CLOSING
json_members() {
  local pointer=$1 depth=$2 kind=$3 closing=$4 key count=0
  ((depth < JSON_MAX_DEPTH)) || json_fail 'nested too deeply' || return
  JSON_REST=${JSON_REST:1}
  json_skip
  while [[ ${JSON_REST:0:1} != "$closing" ]]; do
    if ((count > 0)); then
      [[ ${JSON_REST:0:1} == ',' ]] || json_fail "expected , or $closing" || return
      JSON_REST=${JSON_REST:1}
      json_skip
    fi
    key=$count
    if [[ $kind == object ]]; then
      [[ ${JSON_REST:0:1} == '"' ]] || json_fail 'expected a name in quotes' || return
      json_string || return
      key=${REPLY//\~/\~0}
      key=${key//\//\~1}
      json_skip
      [[ ${JSON_REST:0:1} == ':' ]] || json_fail 'expected :' || return
      JSON_REST=${JSON_REST:1}
      [[ -z ${KIND["$pointer/$key"]-} ]] || json_fail 'a member stands twice' || return
    fi
    json_value "$pointer/$key" $((depth + 1)) || return
    json_skip
    count=$((count + 1))
  done
  JSON_REST=${JSON_REST:1}
  KIND[$pointer]=$kind VALUE[$pointer]=$count
}

# Takes a string from the front of JSON_REST and leaves it decoded in REPLY.
json_string() {
  local text='' chunk
  JSON_REST=${JSON_REST:1}
  while :; do
    chunk=${JSON_REST%%[\"\\]*}
    [[ $chunk != *[$'\x01'-$'\x1f']* ]] || json_fail 'a control character in a string' || return
    text+=$chunk
    JSON_REST=${JSON_REST:${#chunk}}
    case $JSON_REST in
      '"'*) break ;;
      '') json_fail 'a string without an end' || return ;;
      *) json_escape_sequence || return ;;
    esac
    text+=$REPLY
  done
  JSON_REST=${JSON_REST:1}
  REPLY=$text
}

json_escape_sequence() {
  local pair='^\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})' single='^\\u([0-9a-fA-F]{4})'
  local length=2 code
  if [[ $JSON_REST =~ $pair ]]; then
    length=12 code=$((0x10000 + ((16#${BASH_REMATCH[1]} - 0xd800) << 10) + 16#${BASH_REMATCH[2]} - 0xdc00))
    json_utf8 "$code"
  elif [[ $JSON_REST =~ $single ]]; then
    length=6 code=$((16#${BASH_REMATCH[1]}))
    ((code > 0)) || json_fail 'bash cannot hold a NUL character' || return
    ((code < 0xd800 || code > 0xdfff)) || code=0xfffd # half a pair: the replacement character
    json_utf8 "$code"
  else
    case ${JSON_REST:1:1} in
      '"' | '\' | '/') REPLY=${JSON_REST:1:1} ;;
      b) REPLY=$'\b' ;;
      f) REPLY=$'\f' ;;
      n) REPLY=$'\n' ;;
      r) REPLY=$'\r' ;;
      t) REPLY=$'\t' ;;
      *) json_fail 'an unknown escape' || return ;;
    esac
  fi
  JSON_REST=${JSON_REST:length}
}

# json_utf8 CODEPOINT: its UTF-8 bytes in REPLY.
json_utf8() {
  local code=$(($1)) format
  if ((code < 0x80)); then
    printf -v format '\\x%02x' "$code"
  elif ((code < 0x800)); then
    printf -v format '\\x%02x\\x%02x' $((0xc0 | code >> 6)) $((0x80 | code & 0x3f))
  elif ((code < 0x10000)); then
    printf -v format '\\x%02x\\x%02x\\x%02x' $((0xe0 | code >> 12)) $((0x80 | code >> 6 & 0x3f)) \
      $((0x80 | code & 0x3f))
  else
    printf -v format '\\x%02x\\x%02x\\x%02x\\x%02x' $((0xf0 | code >> 18)) $((0x80 | code >> 12 & 0x3f)) \
      $((0x80 | code >> 6 & 0x3f)) $((0x80 | code & 0x3f))
  fi
  printf -v REPLY '%b' "$format"
}

# json_quote TEXT: TEXT as a JSON string, quotes included, in REPLY.
json_quote() {
  local text=$1 code character escaped
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  text=${text//$'\t'/\\t}
  text=${text//$'\r'/\\r}
  if [[ $text == *[$'\x01'-$'\x1f']* ]]; then
    for ((code = 1; code < 32; code++)); do
      printf -v escaped '\\u%04x' "$code"
      printf -v character '%b' "\\x${escaped: -2}"
      text=${text//"$character"/"$escaped"}
    done
  fi
  REPLY="\"$text\""
}

# ---- The protocol: replies go to descriptor 3, requests come from 4 ------------------------------------------------

# reply_result JSON · reply_error CODE MESSAGE [JSON-DATA]; each call of tool_execute ends with exactly one of them.
reply_result() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$JSON_ID" "$1" >&3; }
reply_error() {
  json_quote "$2"
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":%s%s}}\n' "$JSON_ID" "$1" "$REPLY" \
    "${3:+,\"data\":$3}" >&3
}

# progress DONE TOTAL: tells whoever follows the call how far it is; both are numbers.
progress() {
  printf '{"jsonrpc":"2.0","method":"progress","params":{"id":%s,"progress":%s,"total":%s}}\n' "$JSON_ID" "$1" "$2" >&3
}

answer() {
  if ! json_parse "$1"; then
    JSON_ID=null
    reply_error -32700 "Parse error: $JSON_PROBLEM"
    return
  fi
  case ${KIND['#/id']-} in
    number) JSON_ID=${VALUE['#/id']} ;;
    string) json_quote "${VALUE['#/id']}" && JSON_ID=$REPLY ;;
  esac
  if [[ ${KIND['#/jsonrpc']-}:${VALUE['#/jsonrpc']-} != string:2.0 || ${KIND['#/method']-} != string ]]; then
    reply_error -32600 'The request needs "jsonrpc": "2.0" and a method'
    return
  fi
  case ${VALUE['#/method']} in
    initialize) reply_result "$definition" ;;
    health) tool_health ;;
    execute) answer_execute ;;
    *) reply_error -32601 "Method not found: ${VALUE['#/method']}" ;;
  esac
}

answer_execute() {
  if [[ ${KIND['#/params/input']-object} != object || ${KIND['#/params']-object} != object ]]; then
    reply_error -32602 'params and input must be objects'
    return
  fi
  tool_execute
}

# only_members NAME…: refuses (and answers for) an input with members other than these.
only_members() {
  local name known=0
  for name; do [[ -z ${KIND["#/params/input/$name"]-} ]] || known=$((known + 1)); done
  ((${VALUE['#/params/input']:-0} == known)) && return
  reply_error -32602 "The input knows only: $*"
  return 1
}

log() { printf '[%s] %s\n' "${0##*/}" "$*" >&2; }

serve() {
  local line
  # Whatever a command prints by accident lands in the log, and none can eat the next request from stdin.
  exec 3>&1 1>&2 4<&0 0</dev/null
  while IFS= read -r -u 4 line || [[ -n $line ]]; do
    [[ $line =~ ^[[:space:]]*$ ]] || answer "$line"
  done
  exit 0
}

#!/usr/bin/env bash
# disk_usage: what df says about the file system that holds a path, as JSON. Built on templates/bash.
here=${BASH_SOURCE[0]%"${0##*/}"}
source "${here:-./}json.bash" || exit 1

read -r -d '' definition <<'JSON'
{"name":"disk_usage","description":"Tells how full the file system is that holds a path on the machine where this tool runs: size, used and free bytes, used per cent, inodes, device and mount point. Use it when something may have run out of disk space or inodes.","version":"1.0.0","inputSchema":{"type":"object","properties":{"path":{"type":"string","pattern":"^/","minLength":1,"maxLength":1024,"examples":["/"],"description":"Absolute path of an existing file or directory: /, or one that this tool is shown (sandbox.allowedPaths), for example /var/log."}},"required":["path"],"additionalProperties":false}}
JSON

tool_health() {
  if type -P df >/dev/null; then
    reply_result '{"status":"healthy"}'
  else
    reply_result '{"status":"unhealthy","message":"The program df is not on the PATH"}'
  fi
}

# read_df OPTION PATH: the table's one row in the array row (device, size, used, free, per cent, mount point).
# Fails with df's own message in REPLY.
read_df() {
  local columns='^(.*[^ ]) +(-|[0-9]+) +(-|[0-9]+) +(-|-?[0-9]+) +(-|[0-9]+)%? +(/.*)$'
  REPLY=$(df -P "$1" -- "$2" 2>&1 3>&- 4<&-) || return
  REPLY=${REPLY##*$'\n'}
  [[ $REPLY =~ $columns ]] || return
  row=("${BASH_REMATCH[@]:1}")
}

# kilobytes TEXT, whole TEXT: a JSON number in bytes or as it is, null for df's "-".
kilobytes() { [[ $1 =~ ^-?[0-9]{1,15}$ ]] && REPLY=$(($1 * 1024)) || REPLY=null; }
whole() { [[ $1 =~ ^-?[0-9]{1,18}$ ]] && REPLY=$1 || REPLY=null; }

# add NAME JSON: one more member of the object in the caller's variable json.
add() { json+="${json:+,}\"$1\":$2"; }

tool_execute() {
  local path=${VALUE['#/params/input/path']-} json='' row
  only_members path || return
  # 4096 bytes: 1024 characters of up to four.
  if [[ ${KIND['#/params/input/path']-} != string || $path != /* ]] || ((${#path} > 4096)); then
    reply_error -32602 'path must be an absolute path of at most 1024 characters'
    return
  fi
  json_quote "$path" && add path "$REPLY"
  if [[ ! -e $path ]]; then
    reply_error -32602 'The path does not exist or cannot be reached' "{$json}"
    return
  fi
  if ! read_df -k "$path"; then
    reply_error -32001 "$REPLY" "{$json}"
    return
  fi
  # The root of a sandbox is an empty one of its own; the system's programs are shown to every tool.
  if [[ $path == / && ${row[0]} == tmpfs ]] && read_df -k /usr; then path=/usr; fi
  json_quote "${row[0]}" && add device "$REPLY"
  json_quote "${row[5]}" && add mountPoint "$REPLY"
  kilobytes "${row[1]}" && add sizeBytes "$REPLY"
  kilobytes "${row[2]}" && add usedBytes "$REPLY"
  kilobytes "${row[3]}" && add availableBytes "$REPLY"
  whole "${row[4]}" && add usedPercent "$REPLY"
  # A disk with free bytes is full all the same when its inodes are spent.
  if read_df -i "$path"; then
    whole "${row[1]}" && add inodes "$REPLY"
    whole "${row[3]}" && add availableInodes "$REPLY"
    whole "${row[4]}" && add usedInodesPercent "$REPLY"
  fi
  reply_result "{$json}"
}

serve

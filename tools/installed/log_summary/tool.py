#!/usr/bin/env python3
"""log_summary: what stands in a piece of log, counted and grouped. Built on templates/python."""

import json
import re
import sys
import traceback
from datetime import datetime, timezone

MAX_TEXT = 900_000
MAX_TOP = 50
LEVELS = ("fatal", "error", "warn", "info", "debug", "trace")

DEFINITION = {
    "name": "log_summary",
    "description": (
        "Summarises log text: entries by level, first and last time, and the most frequent messages with numbers, "
        "ids, addresses and times folded, so that repetitions count as one. Understands plain lines, "
        "logfmt, klog and JSON lines. Use it before reading a long log line by line."
    ),
    "version": "1.0.0",
    "inputSchema": {
        "type": "object",
        "properties": {
            "text": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_TEXT,
                "description": "The log, lines separated by \\n. Indented lines count to the entry above them.",
            },
            "top": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_TOP,
                "default": 10,
                "description": "How many of the most frequent messages to return.",
            },
            "minLevel": {
                "type": "string",
                "enum": list(LEVELS),
                "description": "Rank only messages of this level or a graver one. Without it every message is ranked.",
            },
        },
        "required": ["text"],
        "additionalProperties": False,
    },
}

NAMES = {
    **{level: level for level in LEVELS},
    **dict.fromkeys(("critical", "crit", "emerg", "panic", "alert"), "fatal"),
    **dict.fromkeys(("err", "severe"), "error"),
    "warning": "warn",
    **dict.fromkeys(("notice", "information"), "info"),
    "verbose": "trace",
}
KLOG = {"I": "info", "W": "warn", "E": "error", "F": "fatal"}
KLOG_HEAD = re.compile(r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ (?:[\w./-]+:\d+\] )?")
WORDS = "|".join(sorted(NAMES, key=len, reverse=True))
# A level is told from prose by its dress: upper case, level=…, in brackets, or followed by a colon.
LEVEL = re.compile(
    rf"\b(?P<upper>{WORDS.upper()})\b"
    rf"|\b(?i:level|lvl|severity)\s*[=:]\s*\"?(?P<field>(?i:{WORDS}))\b\"?"
    rf"|[\[<(](?P<bracket>(?i:{WORDS}))[\]>)]"
    rf"|\b(?P<colon>(?i:{WORDS})):(?=\s)"
)
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
FOLDS = (
    (TIME, "<time>"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"), "<ip>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<hex>"),
    (re.compile(r"\b\d+(?:\.\d+)?(?=[a-zA-Z%]{0,3}\b)"), "<n>"),
    (re.compile(r"\b(?=[A-Za-z_]*\d)(?=[0-9_]*[A-Za-z])\w{6,}\b"), "<id>"),
    (re.compile(r"\d+"), "<n>"),
)
HEAD = 200  # characters in which level and time are looked for
LONGEST_MESSAGE = 300


class InvalidInput(Exception):
    """The caller's mistake: answered as -32602, never counted against the tool."""


class ToolError(Exception):
    """The tool could not do it: answered as -32001. `data` may hold any JSON value that explains it."""

    def __init__(self, message, data=None):
        super().__init__(message)
        self.data = data


def run(input, context):
    text, top, min_level = checked(input)
    levels = dict.fromkeys((*LEVELS, "unknown"), 0)
    groups, times, lines = {}, [], 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        lines += 1
        level, time, message = parse(line.rstrip("\r"))
        continues = line[0] in " \t" and level == "unknown" and time is None
        if continues and lines > 1:
            continue
        levels[level] += 1
        if time is not None:
            times.append(time)
        if min_level is None or rank(level) <= rank(min_level):
            count(groups, level, message, number)
    ranked = sorted(groups.values(), key=lambda group: (-group["count"], group["firstLine"]))
    return {
        "lines": lines,
        "entries": sum(levels.values()),
        "levels": levels,
        "firstTime": iso(min(times, default=None)),
        "lastTime": iso(max(times, default=None)),
        "distinctMessages": len(ranked),
        "topMessages": ranked[:top],
    }


def checked(input):
    unknown = sorted(set(input) - {"text", "top", "minLevel"})
    text, top, min_level = input.get("text"), input.get("top", 10), input.get("minLevel")
    if unknown:
        raise InvalidInput(f"The input knows only text, top and minLevel, not {', '.join(unknown)}")
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_TEXT:
        raise InvalidInput(f"text must be a string of 1 to {MAX_TEXT} characters")
    if type(top) is not int or not 1 <= top <= MAX_TOP:
        raise InvalidInput(f"top must be a whole number from 1 to {MAX_TOP}")
    if "minLevel" in input and min_level not in LEVELS:
        raise InvalidInput(f"minLevel must be one of {', '.join(LEVELS)}")
    return text, top, min_level


def rank(level):
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def count(groups, level, message, number):
    folded = fold(message)
    group = groups.setdefault(
        (level, folded),
        {"count": 0, "level": level, "message": folded, "firstLine": number, "lastLine": number},
    )
    group["count"] += 1
    group["lastLine"] = number
    # One real line beside the folded text: what the numbers were the first time.
    group.setdefault("example", message[:LONGEST_MESSAGE])


def parse(line):
    """Level, time (aware datetime or None) and message of one line."""
    if line.startswith("{"):
        try:
            entry = json.loads(line)
            return json_level(entry), json_time(entry), json_message(entry, line)
        except (ValueError, RecursionError, AttributeError, OverflowError, OSError):
            pass  # not a JSON line after all
    head = line[:HEAD]
    klog = KLOG_HEAD.match(head)
    if klog:
        return KLOG[klog[1]], None, line[klog.end() :]
    level, time = LEVEL.search(head), TIME.search(head)
    name = NAMES[next(filter(None, level.groups())).lower()] if level else "unknown"
    return name, time and parse_time(time[0]), without(line, level, time)


def without(line, *matches):
    """The line without its time and level where they stand at its beginning, one after the other."""
    start = 0
    for match in sorted(filter(None, matches), key=lambda match: match.start()):
        if not line[start : match.start()].strip(" \t[]()|:-"):
            start = max(start, match.end())
    return line[start:].lstrip(" \t])|:-") or line.strip()


def json_level(entry):
    level = next((entry[key] for key in ("level", "severity", "lvl", "log.level") if key in entry), None)
    if isinstance(level, int):  # pino and bunyan count in tens
        return next((name for at, name in zip((60, 50, 40, 30, 20), LEVELS) if level >= at), "trace")
    return NAMES.get(str(level).lower(), "unknown")


def json_time(entry):
    time = next((entry[key] for key in ("time", "timestamp", "ts", "@timestamp") if key in entry), None)
    if isinstance(time, (int, float)):
        seconds = time / 1000 if time > 1e11 else time
        return datetime.fromtimestamp(seconds, timezone.utc)
    found = TIME.search(time) if isinstance(time, str) else None
    return found and parse_time(found[0])


def json_message(entry, line):
    return next((entry[key] for key in ("msg", "message", "error") if isinstance(entry.get(key), str)), line)


def parse_time(text):
    """A time without a zone is taken for UTC; None where the digits are no date."""
    text = text.replace(",", ".").replace("Z", "+00:00")
    text = re.sub(r"\.(\d+)", lambda digits: "." + digits[1][:6].ljust(6, "0"), text)
    text = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", text)
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def iso(time):
    return time and time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def fold(message):
    message = message[: 2 * LONGEST_MESSAGE]
    for pattern, placeholder in FOLDS:
        message = pattern.sub(placeholder, message)
    return message.strip()[:LONGEST_MESSAGE]


def health():
    return {"status": "healthy"}


# ---- The protocol. Nothing below needs a change. ---------------------------------------------------------------


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def failure(code, message, data=None):
    error = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"error": error}


def execute(params):
    input, context = params.get("input", {}), params.get("context", {})
    if not isinstance(input, dict) or not isinstance(context, dict):
        return failure(-32602, "input and context must be objects")
    try:
        return {"result": run(input, context)}
    except InvalidInput as error:
        return failure(-32602, str(error))
    except ToolError as error:
        return failure(-32001, str(error), error.data)
    except Exception as error:  # an unforeseen failure ends this call, not the process
        traceback.print_exc(file=sys.stderr)
        return failure(-32001, f"{type(error).__name__}: {error}")


def dispatch(request):
    params = request.get("params", {})
    method = request.get("method")
    if request.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return failure(-32600, 'The request needs "jsonrpc": "2.0" and a method')
    if not isinstance(params, dict):
        return failure(-32602, "params must be an object")
    if method == "initialize":
        return {"result": DEFINITION}
    if method == "health":
        return {"result": health()}
    if method == "execute":
        return execute(params)
    return failure(-32601, f"Method not found: {method}")


def answer(line):
    """One line in, one line out. The reply is ASCII (everything else escaped): no locale can break it."""
    try:
        request = json.loads(line, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        return json.dumps({"jsonrpc": "2.0", "id": None, **failure(-32700, f"Parse error: {error}")})
    if not isinstance(request, dict):
        return json.dumps({"jsonrpc": "2.0", "id": None, **failure(-32600, "The request must be an object")})
    id = request.get("id")
    head = {"jsonrpc": "2.0", "id": id if isinstance(id, (str, int, float)) else None}
    try:
        return json.dumps({**head, **dispatch(request)}, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps({**head, **failure(-32603, f"The result is not JSON: {error}")})


def main():
    replies, sys.stdout = sys.stdout, sys.stderr  # a stray print() lands in the log, not between the replies
    for line in sys.stdin.buffer:
        if line.strip():
            replies.write(answer(line) + "\n")
            replies.flush()


if __name__ == "__main__":
    main()

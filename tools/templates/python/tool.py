#!/usr/bin/env python3
"""Starting point for a tool in Python. Copy the folder, change DEFINITION and run(), register it.

One JSON-RPC 2.0 request a line on stdin, one answer a line on stdout, anything else on stderr (docs/tools/protocol.md).
Only the standard library is needed.
"""

import json
import sys
import traceback

DEFINITION = {
    "name": "my_python_tool",  # must equal the name in tool.json
    "description": (
        "Say in one or two sentences what the tool does, for which questions an agent should call it, "
        "and what it answers."
    ),
    "version": "1.0.0",
    # Agents read the descriptions; Toolkeeper checks every call against the bounds before it reaches run().
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1000,
                "description": "What to look for.",
                "examples": ["pods"],
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "default": 10,
                "description": "How many results to return at most.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
}


class InvalidInput(Exception):
    """The caller's mistake: answered as -32602, never counted against the tool."""


class ToolError(Exception):
    """The tool could not do it: answered as -32001. `data` may hold any JSON value that explains it."""

    def __init__(self, message, data=None):
        super().__init__(message)
        self.data = data


def run(input, context):
    """The tool's work. Returns a JSON value; raises InvalidInput or ToolError.

    context: runId, executionId, workingDir, timeout (milliseconds that are left for this call).
    """
    query = input.get("query")
    limit = input.get("limit", 10)
    # The same rules as in the schema: whoever runs this file without Toolkeeper gets them too.
    if not isinstance(query, str) or not 1 <= len(query) <= 1000:
        raise InvalidInput("query must be a string of 1 to 1000 characters")
    if type(limit) is not int or not 1 <= limit <= 100:
        raise InvalidInput("limit must be a whole number from 1 to 100")
    if query == "fail":
        raise ToolError("This is how a failure is told", {"query": query})
    # To run another program: subprocess.run([...], stdin=subprocess.DEVNULL, timeout=...), never shell=True.
    items = []
    for number in range(1, limit + 1):
        items.append({"id": number, "title": f"Result {number} for {query}"})
        progress(context, number, limit)  # seen by callers that follow the call; leave it out where a call is quick
    return {"items": items, "count": len(items)}


def health():
    """Cheap and quick: is what the tool needs there? status: healthy, degraded or unhealthy."""
    return {"status": "healthy"}


# ---- The protocol. Nothing below needs a change. ---------------------------------------------------------------


REPLIES = sys.stdout


def write(line):
    REPLIES.write(line + "\n")
    REPLIES.flush()


def progress(context, done, total=None, message=None):
    params = {"executionId": context.get("executionId"), "progress": done, "total": total, "message": message}
    write(json.dumps({"jsonrpc": "2.0", "method": "progress", "params": params}))


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
    sys.stdout = sys.stderr  # a stray print() lands in the log, not between the replies
    for line in sys.stdin.buffer:
        if line.strip():
            write(answer(line))


if __name__ == "__main__":
    main()

"""Runs the tool as Toolkeeper does; no server is needed: python3 -m unittest"""

import json
import subprocess
import unittest
from pathlib import Path

HERE = Path(__file__).parent
MANIFEST = json.loads((HERE / "tool.json").read_text(encoding="utf-8"))


def ask(method, params):
    """The tool's answer to one request."""
    request = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
    command = [MANIFEST["command"], *MANIFEST["args"]]
    run = subprocess.run(
        command, cwd=HERE, input=json.dumps(request) + "\n", capture_output=True, encoding="utf-8", timeout=30
    )
    messages = [json.loads(line) for line in run.stdout.splitlines()]
    return next(message for message in messages if message.get("id") == "1")


def call(**input):
    return ask("execute", {"input": input, "context": {"timeout": 10_000}})


class ToolTest(unittest.TestCase):
    def test_introduces_itself_by_the_name_that_is_registered(self):
        result = ask("initialize", {"protocolVersion": "1.0"})["result"]
        self.assertEqual(result["name"], MANIFEST["name"])
        self.assertEqual(result["inputSchema"]["type"], "object")

    def test_is_healthy(self):
        self.assertEqual(ask("health", {})["result"]["status"], "healthy")

    def test_answers(self):
        result = call(query="pods", limit=2)["result"]
        self.assertEqual(result["count"], 2)

    def test_refuses_a_wrong_input(self):
        self.assertEqual(call()["error"]["code"], -32602)
        self.assertEqual(call(query="pods", limit=0)["error"]["code"], -32602)

    def test_tells_its_own_failure(self):
        self.assertEqual(call(query="fail")["error"]["code"], -32001)


if __name__ == "__main__":
    unittest.main()

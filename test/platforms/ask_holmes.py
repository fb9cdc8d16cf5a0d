"""HolmesGPT's own classes against what a server said. Reads one JSON object, prints one.

tools, results: as GET /api/v1/tools?format=holmes and POST /api/v1/tool-calls have them.
config, model, task: a configuration of HolmesGPT with an MCP server, a model's address, and what the model is asked.
"""

import json
import sys

import yaml
from holmes.core.llm import DefaultLLM
from holmes.core.openai_formatting import format_tool_to_open_ai_standard
from holmes.core.tool_calling_llm import ToolCallingLLM
from holmes.core.tools import StructuredToolResult, ToolParameter
from holmes.core.tools_utils.tool_executor import ToolExecutor
from holmes.plugins.toolsets import load_toolsets_from_config


def read(kind, given):
    """Whoever validates drops members that it does not know; here none may be."""
    found = kind.model_validate(given)
    assert found.model_dump(mode="json", exclude_unset=True) == given, given
    return found


def offered(tool):
    parameters = {name: read(ToolParameter, given) for name, given in tool["parameters"].items()}
    return format_tool_to_open_ai_standard(tool["name"], tool["description"], parameters)["function"]


def investigated(config, model, task):
    servers = yaml.safe_load(config)["mcp_servers"]
    toolsets = load_toolsets_from_config({name: {**server, "type": "mcp"} for name, server in servers.items()})
    for toolset in toolsets:
        toolset.enabled = True
        toolset.check_prerequisites()
        assert toolset.error is None, toolset.error
    llm = DefaultLLM(model="openai/scripted", api_key="none", api_base=model)
    agent = ToolCallingLLM(ToolExecutor(toolsets), 5, llm, None)
    return agent.call([{"role": "user", "content": task}]).result


asked = json.load(sys.stdin)
said = {
    "tools": [offered(tool) for tool in asked.get("tools", [])],
    "results": [read(StructuredToolResult, result).status.value for result in asked.get("results", [])],
}
if "config" in asked:
    said["answer"] = investigated(asked["config"], asked["model"], asked["task"])
json.dump(said, sys.stdout)

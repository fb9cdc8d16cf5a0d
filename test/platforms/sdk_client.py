"""The clients of MCP's Python SDK, of both eras: does what sdks.mjs asks of each SDK, and prints what came of it."""

import asyncio
import contextlib
import json
import sys

url, key, revision = sys.argv[1:]
headers = {"Authorization": key}
NAME = "sdk__"


@contextlib.asynccontextmanager
async def modern():
    import httpx2
    from mcp import Client, types
    from mcp.client.streamable_http import streamable_http_client

    async def answer(_context, _params):
        return types.ElicitResult(action="accept", content={"response": "blue"})

    transport = streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers))
    async with Client(transport, mode=revision, elicitation_callback=answer) as client:
        yield client, client.protocol_version


@contextlib.asynccontextmanager
async def legacy():
    from mcp import ClientSession, types
    from mcp.client.streamable_http import streamablehttp_client

    async def answer(_context, _params):
        return types.ElicitResult(action="accept", content={"response": "blue"})

    async with streamablehttp_client(url, headers) as (reads, writes, _session):
        async with ClientSession(reads, writes, elicitation_callback=answer) as client:
            yield client, (await client.initialize()).protocolVersion


async def main():
    async with (legacy if revision == "initialize" else modern)() as (client, spoken):
        tools = (await client.list_tools()).tools
        said = await client.call_tool(f"{NAME}test_simple_text", {})
        read = await client.read_resource("test://static-text")
        prompt = await client.get_prompt(f"{NAME}test_simple_prompt")
        asked = await client.call_tool(f"{NAME}test_elicitation", {"message": "Which colour?"})
        left = False
        try:
            slow = client.call_tool(f"{NAME}slow_compute", {"seconds": 20, "label": "python"})
            await asyncio.wait_for(slow, 1)
        except TimeoutError:
            left = True
        # A moment for the cancellation to be sent.
        await client.list_tools()
        out = {
            "revision": spoken,
            "tools": len(tools) > 10,
            "called": said.content[0].text,
            "read": read.contents[0].text,
            "prompt": prompt.messages[0].content.text,
            "asked": asked.content[0].text,
            "left": left,
        }
        print(json.dumps(out))


asyncio.run(main())

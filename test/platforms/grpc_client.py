"""Prints what each method of tool-health.proto answers: a client that grpcio-tools makes of it, by the fields of the file."""

import json
import sys
import tempfile

import grpc
from google.protobuf.json_format import MessageToDict
from grpc_tools import protoc

address, key, docs = sys.argv[1:]
made = tempfile.mkdtemp()
flags = [f"-I{docs}", f"--python_out={made}", f"--grpc_python_out={made}"]
assert protoc.main(["", *flags, "tool-health.proto"]) == 0
sys.path.insert(0, made)
import tool_health_pb2 as pb  # noqa: E402
import tool_health_pb2_grpc as rpc  # noqa: E402

health = rpc.ToolHealthStub(grpc.insecure_channel(address))
tool = "code_search"
shown = {"metadata": [("authorization", "Bearer " + key)]}


def execution(status, ms, **more):
    about = {"tool_name": tool, "user_id": "user-123", "session_id": "sess-456", "metadata": {"region": "eu"}}
    return pb.RecordExecutionRequest(status=status, execution_time_ms=ms, **about, **more)


for _ in range(9):
    health.RecordExecution(execution("success", 150), **shown)
late = execution("timeout", 5000, error_type="timeout", error_message="Search timed out after 5000ms")
answers = {
    "recorded": health.RecordExecution(late, **shown),
    "report": health.CheckToolHealth(pb.ToolHealthRequest(tool_name=tool), **shown),
    "system": health.CheckAllToolsHealth(pb.HealthPeriodRequest(), **shown),
    "summary": health.GetHealthSummary(pb.HealthPeriodRequest(period_hours=2), **shown),
    "info": health.GetToolHealth(pb.ToolRequest(tool_name=tool), **shown),
    "stats": health.GetToolStats(pb.ToolStatsRequest(tool_name=tool, since="2026-01-01"), **shown),
    "advice": health.ShouldCircuitBreak(pb.CircuitAdviceRequest(tool_name=tool, error_threshold=1), **shown),
}
told = {
    name: MessageToDict(answer, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    for name, answer in answers.items()
}
try:
    health.RecordExecution(late, metadata=[("x-api-key", "tk_wrong")])
except grpc.RpcError as error:
    told["refused"] = error.code().name
print(json.dumps(told))

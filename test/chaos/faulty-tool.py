#!/usr/bin/env python3
"""A tool that does what its input says: `input.script` is a list of steps, test/chaos/steps.ts has their shapes.

Before its first step a call writes a line into the ledger, so that whoever injects the fault knows which processes to
look for and how often the call really ran. Environment:
  CHAOS_LEDGER   folder of the ledger, one file a fault
  CHAOS_THREADS  set: every request runs in a thread of its own
  CHAOS_MODE     a file; while it holds "crash" the tool ends at its start
  CHAOS_EPOCH    comes back in every reply
"""
import base64
import json
import os
import signal
import sys
import threading
import time

MIB = 1024 * 1024
# Whatever goes wrong with the suite, nothing of it outlives this.
LONGEST_LIFE = 1800

write_lock = threading.Lock()
meetings = {}
leaked = []
meetings_changed = threading.Condition()
reading = threading.Event()
reading.set()


def put(data):
    """Everything in one go: os.write may take only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]


def started_at(pid):
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return stat.read().rpartition(b")")[2].split()[19].decode()


def note(fault, role):
    """One line in the ledger: pid, start time (pids are used again), role."""
    line = f"{os.getpid()} {started_at('self')} {role}\n"
    fd = os.open(os.path.join(os.environ["CHAOS_LEDGER"], fault), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(fd, line.encode())
    os.close(fd)


def times_noted(fault):
    with open(os.path.join(os.environ["CHAOS_LEDGER"], fault), encoding="ascii") as ledger:
        return sum(line.endswith(" self\n") for line in ledger)


class Call:
    def __init__(self, request):
        self.id = request["id"]
        self.input = request["params"]["input"]
        self.nonce = self.input["nonce"]

    def result(self, wire_id=None, nonce=None):
        result = {"nonce": nonce or self.nonce, "pid": os.getpid(), "epoch": os.environ.get("CHAOS_EPOCH", "")}
        return {"jsonrpc": "2.0", "id": wire_id or self.id, "result": result}

    def line(self, wire_id=None, nonce=None):
        return json.dumps(self.result(wire_id, nonce), ensure_ascii=False).encode() + b"\n"

    def fill(self, text):
        reply = self.line().decode()
        pretty = json.dumps(self.result(), indent=2, ensure_ascii=False)
        for name, value in (("$REPLY", reply.rstrip("\n")), ("$PRETTY", pretty), ("$ID", self.id)):
            text = text.replace(name, value)
        text = text.replace("$NEXT", str(int(self.id) + 1)).replace("$LAST", str(int(self.id) - 1))
        return text.encode()


def do_reply(call, step):
    line = call.line()
    if "part" in step:
        # For good: what another thread wrote behind half a line would be joined to it.
        write_lock.acquire()
        put(line[: int(len(line) * step["part"])])
        return
    with write_lock:
        put(line)


def do_write(call, step):
    """Bytes in pieces of their own, cut at the given places (fractions of the whole)."""
    data = call.fill(step["text"]) if "text" in step else base64.b64decode(step["base64"])
    places = [0, *sorted(int(len(data) * cut) for cut in step.get("cuts", [])), len(data)]
    with write_lock:
        for start, end in zip(places, places[1:]):
            put(data[start:end])
            time.sleep(step.get("pauseMs", 0) / 1000)


def do_split_character(call, _step):
    """Every byte of the first multi-byte character in a piece of its own."""
    line = call.line()
    at = next(place for place, byte in enumerate(line) if byte >= 0xC0)
    with write_lock:
        for piece in (line[: at + 1], line[at + 1: at + 2], line[at + 2:]):
            put(piece)
            time.sleep(0.002)


def do_crosswise(call, step):
    """Two calls that run at once: answers in the other order, then each other's answer under their ids."""
    with meetings_changed:
        pair = meetings.setdefault(step["key"], [])
        pair.append(call)
        meetings_changed.notify_all()
        if len(pair) == 1:
            meetings_changed.wait_for(lambda: len(pair) == 2, timeout=step["waitMs"] / 1000)
            if len(pair) == 1:
                # The other one runs in another process: ids near by may well be open there.
                near = [call.line(str(int(call.id) + by), "crossed") for by in (1, -1, 2)]
                with write_lock:
                    put(b"".join([*near, call.line(), *near]))
            return
    one, two = pair
    crossed = one.line(nonce=two.nonce) + two.line(nonce=one.nonce)
    with write_lock:
        put(two.line() + one.line() + crossed)


def do_flood(_call, step):
    """Output without an end."""
    block = step["text"].encode() * (65536 // len(step["text"]))
    left = step.get("bytes", float("inf"))
    while left > 0:
        put(block)
        left -= len(block)


def do_stderr(_call, step):
    block = b"e" * (MIB - 1) + b"\n"
    left = step["bytes"]
    while left > 0:
        left -= os.write(2, block[: min(left, MIB)])


def do_leak(_call, step):
    """Memory that is never given back, every page of it touched."""
    for _ in range(step["mib"]):
        leaked.append(bytearray(os.urandom(4096)) * 256)


def do_spin(_call, _step):
    while True:
        pass


def do_grandchild(call, step):
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        become_grandchild(call.input["fault"], step, told)
    os.close(told)
    os.read(ready, 1)
    os.close(ready)


def become_grandchild(fault, step, told):
    if step.get("setsid"):
        os.setsid()
        # Its parent ends: the tool knows nothing of this process any more.
        if os.fork() != 0:
            os._exit(0)
    if step.get("ignoreTerm"):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    if not step.get("holdPipes"):
        for fd in (0, 1, 2):
            os.close(fd)
    note(fault, "grandchild")
    os.write(told, b"!")
    os.close(told)
    time.sleep(LONGEST_LIFE)
    os._exit(0)


def do_stop_reading(_call, _step):
    reading.clear()


STEPS = {
    "reply": do_reply,
    "write": do_write,
    "splitCharacter": do_split_character,
    "crosswise": do_crosswise,
    "flood": do_flood,
    "stderr": do_stderr,
    "leak": do_leak,
    "spin": do_spin,
    "grandchild": do_grandchild,
    "stopReading": do_stop_reading,
    "sleep": lambda _call, step: time.sleep(step["ms"] / 1000),
    "hang": lambda _call, _step: time.sleep(LONGEST_LIFE),
    "exit": lambda _call, step: os._exit(step["code"]),
    "kill": lambda _call, step: os.kill(os.getpid(), getattr(signal, step["signal"])),
    "close": lambda _call, step: os.close(step["fd"]),
    "ignoreTerm": lambda _call, _step: signal.signal(signal.SIGTERM, signal.SIG_IGN),
}


def execute(request):
    call = Call(request)
    fault = call.input.get("fault")
    script = call.input.get("script", [{"do": "reply"}])
    if fault:
        note(fault, "self")
        if call.input.get("once") and times_noted(fault) > 1:
            script = [{"do": "reply"}]
    try:
        for step in script:
            STEPS[step["do"]](call, step)
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)


def answer(request):
    if request["method"] == "execute":
        if "CHAOS_THREADS" in os.environ:
            threading.Thread(target=execute, args=(request,), daemon=True).start()
        else:
            execute(request)
        return
    result = {"status": "healthy"}
    if request["method"] == "initialize":
        schema = {"type": "object", "required": ["nonce"]}
        result = {"name": "chaos", "description": "Does what its input says", "version": "1.0.0", "inputSchema": schema}
    line = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n"
    with write_lock:
        put(line)


def main():
    mode = os.environ.get("CHAOS_MODE")
    if mode and os.path.exists(mode):
        with open(mode, encoding="ascii") as file:
            if file.read() == "crash":
                sys.exit(9)
    signal.alarm(LONGEST_LIFE)
    rest = bytearray()
    while True:
        if not reading.is_set():
            time.sleep(LONGEST_LIFE)
        chunk = os.read(0, 1 << 16)
        if not chunk:
            return
        rest += chunk
        if 10 not in chunk:
            continue
        *lines, tail = bytes(rest).split(b"\n")
        rest = bytearray(tail)
        for line in lines:
            answer(json.loads(line))


try:
    main()
except OSError:
    # Its input is closed: it goes on running all the same.
    time.sleep(LONGEST_LIFE)

"""An agent that talks to a host the way the Python SDK's HTTP client does, with the standard library alone.

Usage: agent.py URL TOKEN. Prints one JSON object with what it saw; exits with 1 and a message where a step fails.
"""

import http.client
import json
import queue
import sys
import threading
import time
import urllib.parse
import uuid


class Agent:
    def __init__(self, url):
        self.address = urllib.parse.urlsplit(url)
        self.pending = {}
        self.events = {}
        self.unsolicited = []
        self.dropped = []
        self.session_id = json.loads(self.http("POST", "/session", "", {})[1])["session_id"]
        self.opened = threading.Event()
        self.reader = threading.Thread(target=self.read_stream, daemon=True)
        self.reader.start()
        if not self.opened.wait(10):
            raise RuntimeError("the stream did not open")

    def connect(self):
        return http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=20)

    def http(self, method, path, body, headers):
        connection = self.connect()
        try:
            connection.request(method, path, body.encode("utf-8"), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8")
        finally:
            connection.close()

    def read_stream(self):
        """Decodes as Latin-1 and cuts with str.splitlines, chunk by chunk: the SDK's HTTP library without a charset."""
        connection = self.connect()
        connection.request("GET", "/stream", headers={"X-Session-Id": self.session_id, "Accept": "text/event-stream"})
        answer = connection.getresponse()
        self.opened.set()
        pending = ""
        while True:
            chunk = answer.read1(512)
            if not chunk:
                break
            text = pending + chunk.decode("latin-1")
            lines = text.splitlines()
            pending = lines.pop() if lines and lines[-1] and text.endswith(lines[-1]) else ""
            for line in lines:
                if line.startswith("data:"):
                    self.receive(line[5:].strip())
        connection.close()

    def receive(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            self.dropped.append(line)
            return
        req_id = message.get("req_id", "")
        if message["type"].endswith("/event"):
            self.events.setdefault(req_id, []).append(message)
        elif req_id in self.pending:
            self.pending[req_id].put(message)
        else:
            self.unsolicited.append(message)

    def post(self, message):
        headers = {"X-Session-Id": self.session_id, "Content-Type": "text/plain"}
        status, body = self.http("POST", "/send", json.dumps(message), headers)
        if status != 200 or json.loads(body) != {"ok": True}:
            raise RuntimeError("POST /send answered %s %s" % (status, body))

    def message(self, type_, **fields):
        return {"type": type_, "id": uuid.uuid4().hex, "version": "1.0", "ts": time.time(), **fields}

    def rpc(self, message):
        answers = self.pending.setdefault(message["id"], queue.Queue())
        self.post(message)
        return answers.get(timeout=20)


def main():
    url, token = sys.argv[1], sys.argv[2]
    agent = Agent(url)
    seen = {"session_id": agent.session_id}

    hello = agent.rpc(agent.message("handshake/req", agent_id="python", agent_caps=["streaming", "artifacts", "tools", "skills", "learn"], auth_token=token))
    seen["handshake"] = hello

    listed = agent.rpc(agent.message("tool/list/req", filter_kind="", filter_tags=[], query="", include_deferred=False))
    seen["tools"] = [tool["name"] for tool in listed["tools"]]

    def call(tool_name, arguments, streaming):
        return agent.message(
            "tool/call/req", session_id="", tool_name=tool_name, arguments=arguments, correlation_id="", streaming=streaming, timeout=30
        )

    text = "Gr\u00fc\u00dfe \u4f60\u597d \U0001f600 \u2028\u2029\u0085\x1c end"
    seen["sent_text"] = text
    seen["echoed_text"] = agent.rpc(call("conformance_echo", {"value": text}, False))["data"]["data"]

    emitting = call("conformance_emit", {"count": 5}, True)
    seen["emit"] = agent.rpc(emitting)
    seen["events"] = agent.events.get(emitting["id"], [])

    counting = call("conformance_count", {"key": agent.session_id}, False)
    first = agent.rpc(counting)
    # The SDK posts again under the same id when it is not sure that a POST arrived.
    again = agent.rpc(counting)
    seen["counts"] = [first["data"]["data"]["count"], again["data"]["data"]["count"]]

    seen["not_a_number"] = agent.rpc(call("conformance_echo", {"value": [float("nan"), float("inf"), float("-inf")]}, False))["data"]["data"]
    seen["unknown_tool"] = agent.rpc(call("no_such_tool", {}, False))

    seen["skills"] = agent.rpc(agent.message("skill/discover/req", filter_tags=[], filter_categories=[]))
    skill_call = agent.message(
        "skill/call/req", name="conformance-script", arguments={"value": text}, correlation_id="", timeout=60, streaming=True, llm_override=None, metadata={}
    )
    seen["skill"] = agent.rpc(skill_call)
    seen["skill_events"] = agent.events.get(skill_call["id"], [])

    seen["pong"] = agent.rpc(agent.message("ping"))

    agent.post(agent.message("shutdown", timeout=10))
    agent.reader.join(20)
    seen["stream_ended"] = not agent.reader.is_alive()
    seen["unsolicited"] = [message["type"] for message in agent.unsolicited]
    seen["dropped"] = agent.dropped
    print(json.dumps(seen))


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        print("%s: %s" % (type(error).__name__, error), file=sys.stderr)
        sys.exit(1)

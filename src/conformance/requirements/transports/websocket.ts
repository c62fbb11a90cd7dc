// A session over a WebSocket, alone or beside HTTP.
import { check, checkEqual, checkType } from "../../check.ts";
import { shakeHands } from "../../context.ts";
import type { Requirement } from "../../requirement.ts";

const transports = ["websocket"] as const;

export const websocket: readonly Requirement[] = [
  {
    id: "WS-1",
    title: "the first frame names the session and the line before the next line",
    source: "extension: session/resumed",
    level: "extension",
    transports,
    async run({ connect }) {
      const peer = await connect();
      await peer.request("ping");
      const [first] = peer.received;
      checkEqual([first?.type, first?.seq], ["session/resumed", 0], "type and seq");
    },
  },
  {
    id: "WS-2",
    title: "a frame may carry several lines",
    source: "wire facts C14",
    level: "must",
    transports,
    async run({ connect }) {
      const peer = await connect();
      const lines = Array.from({ length: 20 }, () => peer.line("ping"));
      checkEqual((await peer.exchange(...lines)).filter(({ type }) => type === "pong").length, 20, "number of answers");
    },
  },
  {
    id: "WS-3",
    title: "a session whose link was cut is joined again by its id and continues after the named line",
    source: "extension: resumption by sequence number",
    level: "extension",
    transports,
    async run({ connectWebSocket, token }) {
      const first = await connectWebSocket();
      await shakeHands(first, token);
      for (const id of ["1", "2", "3"]) await first.request("ping", { id });
      const { sessionId } = first.link;
      check(sessionId !== undefined, "the session should have an id");
      await first.close();
      // Line 1 answered the handshake, 2 to 4 the pings.
      const second = await connectWebSocket({ sessionId, from: 3 });
      checkType(await second.request("tool/list/req"), "tool/list/resp");
      checkEqual(
        second.received.slice(0, 2).map(({ type, seq, req_id }) => [type, seq ?? req_id]),
        [
          ["session/resumed", 3],
          ["pong", "3"],
        ],
        "first messages",
      );
      checkEqual(second.received.filter(({ type }) => type === "pong").length, 1, "number of repeated answers");
    },
  },
  {
    id: "WS-4",
    title: "an unknown session is refused",
    source: "extension: close code 4404",
    level: "extension",
    transports,
    async run({ connectWebSocket }) {
      const peer = await connectWebSocket({ sessionId: "00000000-0000-4000-8000-000000000000" });
      checkEqual(await peer.ended(), "the host closed the WebSocket with 4404", "end");
    },
  },
  {
    id: "WS-5",
    title: "a binary frame is refused without harm to the session",
    source: "hostile input",
    level: "should",
    transports,
    async run({ connectWebSocket }) {
      const peer = await connectWebSocket();
      await peer.request("ping");
      const { sessionId } = peer.link;
      peer.link.writeBinary(Uint8Array.of(0, 255, 1));
      await peer.ended();
      if (sessionId === undefined) return;
      const again = await connectWebSocket({ sessionId });
      checkType(await again.request("ping"), "pong");
    },
  },
  {
    id: "WS-6",
    title: "a session created over HTTP can be joined by WebSocket, and both readers receive every line",
    source: "extension: one session, several readers",
    level: "extension",
    transports,
    async run({ web, connectWebSocket }) {
      const { session_id } = JSON.parse((await web().send("POST", "/session")).body) as { session_id: string };
      const stream = await web().stream("/stream", { headers: { "x-session-id": session_id } });
      try {
        const peer = await connectWebSocket({ sessionId: session_id });
        const id = peer.post("ping", { id: "from-the-socket" });
        await peer.answerTo(id);
        await stream.find(({ data }) => data.includes(id), "answer to what came by WebSocket");
        const headers = { "x-session-id": session_id };
        await web().send("POST", "/send", { headers, body: peer.line("ping", { id: "from-http" }) });
        await peer.answerTo("from-http");
      } finally {
        stream.close();
      }
    },
  },
  {
    id: "WS-7",
    title: "GET /ws without an upgrade answers 426",
    source: "HTTP",
    level: "extension",
    transports,
    async run({ web }) {
      checkEqual((await web().send("GET", "/ws")).status, 426, "status");
    },
  },
];

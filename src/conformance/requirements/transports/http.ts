// The HTTP server: routes, status codes, and a stream that loses no line.
import type { SseEvent } from "../../../framing/sse.ts";
import { check, checkEqual, checkType, skip } from "../../check.ts";
import { shakeHands } from "../../context.ts";
import type { Web } from "../../links/web.ts";
import type { Requirement } from "../../requirement.ts";

const transports = ["http"] as const;

function json(body: string): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>;
}

async function createSession(web: Web): Promise<string> {
  return String(json((await web.send("POST", "/session")).body).session_id);
}

function answers(id: string): (event: SseEvent) => boolean {
  return ({ data }) => json(data).req_id === id;
}

function pingLine(id: string): string {
  return JSON.stringify({ type: "ping", id, version: "1.0" });
}

function post(web: Web, session: string, body: string) {
  return web.send("POST", "/send", { headers: { "x-session-id": session, "content-type": "text/plain" }, body });
}

export const http: readonly Requirement[] = [
  {
    id: "HTTP-1",
    title: "POST /session answers with a session id",
    source: "wire facts C22",
    level: "must",
    transports,
    async run({ web }) {
      const answer = await web().send("POST", "/session");
      checkEqual(answer.status, 200, "status");
      check(
        String(answer.headers["content-type"]).startsWith("application/json"),
        `content-type: ${answer.headers["content-type"]}`,
      );
      check(typeof json(answer.body).session_id === "string", `body: ${answer.body}`);
    },
  },
  {
    id: "HTTP-2",
    title: 'POST /send answers 200 with {"ok":true}',
    source: "wire facts C22",
    level: "must",
    transports,
    async run({ web }) {
      const answer = await post(web(), await createSession(web()), pingLine("1"));
      checkEqual([answer.status, json(answer.body)], [200, { ok: true }], "answer");
    },
  },
  {
    id: "HTTP-3",
    title: "POST /send without X-Session-Id answers 400, with an unknown id 404",
    source: "wire facts C22",
    level: "must",
    transports,
    async run({ web }) {
      checkEqual((await web().send("POST", "/send", { body: pingLine("1") })).status, 400, "without the header");
      checkEqual(
        (await post(web(), "00000000-0000-4000-8000-000000000000", pingLine("1"))).status,
        404,
        "unknown session",
      );
      checkEqual((await post(web(), "__proto__", pingLine("1"))).status, 404, "session __proto__");
    },
  },
  {
    id: "HTTP-4",
    title: "GET /stream without X-Session-Id answers 400, with an unknown id 404",
    source: "wire facts C22",
    level: "must",
    transports,
    async run({ web }) {
      checkEqual((await web().send("GET", "/stream")).status, 400, "without the header");
      checkEqual(
        (await web().send("GET", "/stream", { headers: { "x-session-id": "unknown" } })).status,
        404,
        "unknown session",
      );
    },
  },
  {
    id: "HTTP-5",
    title: 'GET /health answers {"status":"ok"}',
    source: "wire facts C22",
    level: "must",
    transports,
    async run({ web }) {
      const answer = await web().send("GET", "/health");
      checkEqual([answer.status, json(answer.body)], [200, { status: "ok" }], "answer");
    },
  },
  {
    id: "HTTP-6",
    title: "the stream is text/event-stream with charset=utf-8 and is not cached",
    source: "wire facts 3.13",
    level: "must",
    transports,
    async run({ web }) {
      const stream = await web().stream("/stream", { headers: { "x-session-id": await createSession(web()) } });
      try {
        checkEqual(
          String(stream.headers["content-type"]).replaceAll(" ", "").toLowerCase(),
          "text/event-stream;charset=utf-8",
          "content-type",
        );
        check(
          /no-(store|cache)/.test(String(stream.headers["cache-control"])),
          `cache-control: ${stream.headers["cache-control"]}`,
        );
      } finally {
        stream.close();
      }
    },
  },
  {
    id: "HTTP-7",
    title: "the stream is ASCII alone: everything else is escaped",
    source: "wire facts 3.13",
    level: "must",
    transports,
    review({ streams }) {
      for (const pieces of streams) {
        for (const piece of pieces)
          check(
            piece.every((byte) => byte < 0x80),
            "a byte of the stream is not ASCII",
          );
      }
    },
  },
  {
    id: "HTTP-8",
    title: "several lines in a POST are several messages",
    source: "wire facts C14",
    level: "must",
    transports,
    async run({ connect }) {
      const peer = await connect();
      const ids = Array.from({ length: 20 }, () => peer.nextId());
      peer.link.write(`${ids.map(pingLine).join("\n")}\n`);
      for (const id of ids) checkType(await peer.answerTo(id), "pong");
    },
  },
  {
    id: "HTTP-9",
    title: "a body that arrives in pieces, cut inside a character, is read whole",
    source: "framing survives any cut",
    level: "must",
    transports,
    async run({ connect }) {
      const peer = await connect();
      const id = `é😀 ${peer.nextId()}`;
      const bytes = Buffer.from(`${pingLine(id)}\n${pingLine(`${id} 2`)}`);
      await peer.link.writePieces?.(Array.from(bytes, (byte) => Uint8Array.of(byte)));
      checkType(await peer.answerTo(id), "pong");
      checkType(await peer.answerTo(`${id} 2`), "pong");
    },
  },
  {
    id: "HTTP-10",
    title: "any content type is accepted: text/plain, NDJSON, JSON, none",
    source: "wire facts C22",
    level: "must",
    transports,
    async run({ connect, web }) {
      const peer = await connect();
      for (const type of ["text/plain", "application/x-ndjson", "application/json; charset=utf-8", undefined]) {
        const id = peer.nextId();
        const headers = {
          "x-session-id": String(peer.link.sessionId),
          ...(type === undefined ? {} : { "content-type": type }),
        };
        checkEqual(
          (await web().send("POST", "/send", { headers, body: pingLine(id) })).status,
          200,
          `status for ${type}`,
        );
        checkType(await peer.answerTo(id), "pong");
      }
    },
  },
  {
    id: "HTTP-11",
    title: "events have ids that grow",
    source: "wire facts C21",
    level: "must",
    transports,
    async run({ web }) {
      const session = await createSession(web());
      const stream = await web().stream("/stream", { headers: { "x-session-id": session } });
      try {
        for (const id of ["1", "2", "3"]) await post(web(), session, pingLine(id));
        await stream.find(answers("3"), "third answer");
        const ids = stream.events.map((event) => Number(event.id));
        check(
          ids.every((id, index) => Number.isInteger(id) && (index === 0 || id > (ids[index - 1] ?? 0))),
          `ids: ${ids.join(", ")}`,
        );
      } finally {
        stream.close();
      }
    },
  },
  {
    id: "HTTP-12",
    title: "Last-Event-ID resumes after that event: no line is lost or repeated",
    source: "wire facts C21",
    level: "must",
    transports,
    async run({ web }) {
      const session = await createSession(web());
      const headers = { "x-session-id": session };
      const first = await web().stream("/stream", { headers });
      for (const id of ["1", "2", "3"]) await post(web(), session, pingLine(id));
      await first.find(answers("3"), "third answer");
      const second = await first.find(answers("2"), "second answer");
      first.close();
      await post(web(), session, pingLine("4"));
      const resumed = await web().stream("/stream", { headers: { ...headers, "last-event-id": String(second.id) } });
      try {
        await post(web(), session, pingLine("5"));
        await resumed.find(answers("5"), "fifth answer");
        checkEqual(
          resumed.events.map(({ data }) => json(data).req_id),
          ["3", "4", "5"],
          "answers after the second",
        );
      } finally {
        resumed.close();
      }
    },
  },
  {
    id: "HTTP-13",
    title: "lines sent before the first reader connects are delivered to it",
    source: "wire facts C21",
    level: "must",
    transports,
    async run({ web }) {
      const session = await createSession(web());
      await post(web(), session, [pingLine("1"), pingLine("2")].join("\n"));
      const stream = await web().stream("/stream", { headers: { "x-session-id": session } });
      try {
        await stream.find(answers("2"), "second answer");
        checkEqual(
          stream.events.map(({ data }) => json(data).req_id),
          ["1", "2"],
          "answers",
        );
      } finally {
        stream.close();
      }
    },
  },
  {
    id: "HTTP-14",
    title: "a reader that reconnects without Last-Event-ID has lost no line",
    source: "wire facts C21 (message popped, then lost)",
    level: "must",
    transports,
    async run({ web }) {
      const session = await createSession(web());
      const headers = { "x-session-id": session };
      const first = await web().stream("/stream", { headers });
      await post(web(), session, pingLine("1"));
      await first.find(answers("1"), "first answer");
      first.close();
      await post(web(), session, pingLine("2"));
      const second = await web().stream("/stream", { headers });
      try {
        await second.find(answers("2"), "second answer");
      } finally {
        second.close();
      }
    },
  },
  {
    id: "HTTP-15",
    title: "two readers of a session each get every message",
    source: "wire facts C21 (readers steal from each other)",
    level: "must",
    transports,
    async run({ web }) {
      const session = await createSession(web());
      const headers = { "x-session-id": session };
      const readers = [await web().stream("/stream", { headers }), await web().stream("/stream", { headers })];
      try {
        const ids = Array.from({ length: 10 }, (_, index) => String(index));
        for (const id of ids) await post(web(), session, pingLine(id));
        for (const reader of readers) {
          await reader.find(answers("9"), "last answer");
          checkEqual(
            reader.events.map(({ data }) => json(data).req_id),
            ids,
            "answers",
          );
        }
      } finally {
        for (const reader of readers) reader.close();
      }
    },
  },
  {
    id: "HTTP-16",
    title: "DELETE /session/{id} ends a session: its stream ends, and it is unknown afterwards",
    source: "wire facts C20",
    level: "must",
    transports,
    async run({ connect, web, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const session = String(peer.link.sessionId);
      checkEqual((await web().send("DELETE", `/session/${session}`)).status, 200, "status");
      await peer.ended();
      checkEqual((await post(web(), session, pingLine("1"))).status, 404, "status of a later POST");
      checkEqual((await web().send("DELETE", `/session/${session}`)).status, 404, "status of a second DELETE");
    },
  },
  {
    id: "HTTP-17",
    title: "DELETE /session with X-Session-Id does the same",
    source: "wire facts C20",
    level: "must",
    transports,
    async run({ web }) {
      const headers = { "x-session-id": await createSession(web()) };
      checkEqual((await web().send("DELETE", "/session", { headers })).status, 200, "status");
      checkEqual((await web().send("DELETE", "/session", { headers })).status, 404, "status of a second DELETE");
      checkEqual((await web().send("DELETE", "/session")).status, 400, "status without the header");
    },
  },
  {
    id: "HTTP-18",
    title: "after a shutdown the session is unknown",
    source: "wire facts C17 (session kept in memory)",
    level: "must",
    transports,
    async run({ connect, web, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      peer.post("shutdown", { timeout: 0 });
      await peer.ended();
      checkEqual((await post(web(), String(peer.link.sessionId), pingLine("1"))).status, 404, "status");
    },
  },
  {
    id: "HTTP-19",
    title: "an unknown route answers 404, a wrong method 405",
    source: "HTTP",
    level: "should",
    transports,
    async run({ web }) {
      checkEqual((await web().send("GET", "/no/such/route")).status, 404, "unknown route");
      checkEqual((await web().send("PUT", "/send")).status, 405, "wrong method");
    },
  },
  {
    id: "HTTP-20",
    title: "lines that fell out of a full log are announced with session/gap",
    source: "extension: session/gap",
    level: "extension",
    transports,
    needs: { tools: ["conformance_echo"] },
    async run({ connect, web, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const value = "x".repeat(700_000);
      for (let count = 0; count < 20; count++)
        checkType(await peer.call("conformance_echo", { value }), "tool/call/resp");
      const late = await web().stream("/stream", {
        headers: { "x-session-id": String(peer.link.sessionId), "last-event-id": "1" },
      });
      try {
        const first = await late.find(() => true, "event");
        if (json(first.data).type !== "session/gap") skip("the host keeps more than 14 MB of lines");
        checkEqual(json(first.data).from, 2, "from");
        checkEqual(Number(first.id), json(first.data).to, "to, and the id of the event");
        check(
          late.events.length === 1 || Number(late.events[1]?.id) === Number(first.id) + 1,
          "the next line should follow the gap",
        );
      } finally {
        late.close();
      }
    },
  },
];

// A session over HTTP: POST /session, lines by POST /send one after the other, answers from a GET /stream.
import type { Link, OpenLink } from "../link.ts";
import type { Web } from "./web.ts";

export function createHttpLinks(web: Web): OpenLink {
  return async (events, joined) => {
    const sessionId = joined ?? (await createSession(web));
    let isClosed = false;
    const end = (reason: string) => {
      if (!isClosed) events.ended(reason);
      isClosed = true;
    };
    const stream = await web.stream("/stream", {
      headers: { "x-session-id": sessionId },
      onEvent: ({ data }) => events.line(data),
      onEnd: () => end("the stream ended"),
    });
    if (stream.status !== 200) throw new Error(`GET /stream was answered with ${stream.status}`);
    // As the SDK's client sends: plain text, one POST after the other.
    const headers = { "x-session-id": sessionId, "content-type": "text/plain" };
    let last: Promise<unknown> = Promise.resolve();
    const post = (body: string | readonly Uint8Array[]) => {
      last = last.then(() => web.send("POST", "/send", { headers, body })).catch((error: Error) => end(error.message));
      return last;
    };
    const link: Link = {
      sessionId,
      write: (text) => void post(text),
      async writePieces(pieces) {
        await post(pieces);
      },
      async close() {
        const wasOpen = !isClosed;
        isClosed = true;
        await last;
        if (wasOpen) await web.send("DELETE", `/session/${sessionId}`).catch(() => {});
        stream.close();
      },
    };
    return link;
  };
}

async function createSession(web: Web): Promise<string> {
  const created = await web.send("POST", "/session");
  if (created.status !== 200) throw new Error(`POST /session was answered with ${created.status} ${created.body}`);
  return (JSON.parse(created.body) as { session_id: string }).session_id;
}

// The work that all cases share: a call that sends a text and gets it back.

/** As long as it takes to make a request of about 300 bytes. */
export const text = "x".repeat(190);

export interface RawMessage {
  type: string;
  id: string;
  text?: string;
  [field: string]: unknown;
}

/** A request with the envelope of A2E, for the bare peers. */
export function rawRequest(id: string): RawMessage {
  return { type: "tool/call/req", id, a2e: "1.0", version: "1.0", ts: Date.now() / 1000, tool_name: "echo", text };
}

export function rawAnswer(request: RawMessage, id: string): RawMessage {
  const { text = "" } = request;
  return { type: "tool/call/resp", id, a2e: "1.0", version: "1.0", ts: Date.now() / 1000, req_id: request.id, text };
}

export function assertEcho(found: unknown): void {
  if (found !== text) throw new Error(`the echo came back as ${JSON.stringify(found)?.slice(0, 100)}`);
}

// A power cut may lose the last writes, although agents have seen their results. The agents continue with the remaining
// state.
import { cp, rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { ping } from "../protocol/core.ts";
import { connect } from "./connect-node.ts";
import { useKilledHost } from "./killed-host.suite.ts";

const startHost = useKilledHost("crash-host.suite.ts");

test.each(["http", "ws"])(
  "an agent that has seen more lines than its host still has continues from the host's last line (%s)",
  async (scheme) => {
    const host = await startHost();
    const client = await connect(`${scheme}://127.0.0.1:${host.port}`, {
      agentId: "survivor",
      reconnect: { initialBackoffMs: 10, maxBackoffMs: 100 },
    });
    const { episode_id } = (await client.env.reset({ env_name: "counter_env" })).obs;
    const step = () => client.env.step({ episode_id, action: { type: "dec" } });
    for (let count = 0; count < 3; count++) await step();
    const onDisk = `${host.folder}-on-disk`;
    await cp(host.folder, onDisk, { recursive: true });
    for (let count = 0; count < 20; count++) await step();

    await host.restart(async () => {
      await rm(host.folder, { recursive: true });
      await cp(onDisk, host.folder, { recursive: true });
    });
    expect((await step()).obs.step_num).toBe(4);
    // Their numbers are those of lines that the client has seen.
    for (let count = 5; count < 15; count++) expect((await step()).obs.step_num).toBe(count);
    await client.disconnect();
    await host.end();
    await rm(onDisk, { recursive: true });
  },
);

/** Reads `count` lines of a session, from the position that the host returns. */
async function readLines(url: string, headers: Record<string, string>, count: number) {
  const stop = new AbortController();
  const response = await fetch(`${url}/stream`, { headers, signal: stop.signal });
  const lines: { seq: number; req_id?: string }[] = [];
  let text = "";
  if (response.body === null) throw new Error("there is no stream");
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const events = [...text.matchAll(/id: ?(\d+)\ndata: ?(.*)\n\n/g)];
    for (const [, seq, data] of events.slice(lines.length))
      lines.push({ seq: Number(seq), req_id: (JSON.parse(data as string) as { req_id?: string }).req_id as string });
    if (lines.length >= count) break;
  }
  stop.abort();
  return { from: response.headers.get("last-event-id"), boot: response.headers.get("a2e-boot") as string, lines };
}

test("new lines with the numbers of lost lines are not taken for those, even if requests were sent before they are read", async () => {
  const host = await startHost();
  const url = `http://127.0.0.1:${host.port}`;
  const { session_id } = (await (await fetch(`${url}/session`, { method: "POST" })).json()) as { session_id: string };
  const session = { "x-session-id": session_id };
  const post = async (ids: string[], headers: Record<string, string> = {}) => {
    const lines = ids.map((id) => JSON.stringify({ type: ping.type, id, version: "1.0", a2e: "1.0" }));
    const body = lines.join("\n");
    await (await fetch(`${url}/send`, { method: "POST", headers: { ...session, ...headers }, body })).text();
  };
  const hello = {
    type: "handshake/req",
    id: "hello",
    version: "1.0",
    a2e: "1.0",
    agent_id: "by hand",
    agent_caps: ["env"],
  };
  await fetch(`${url}/send`, { method: "POST", headers: session, body: JSON.stringify(hello) });
  await post(["a", "b"]);
  const first = await readLines(url, session, 3);
  const onDisk = `${host.folder}-on-disk`;
  await cp(host.folder, onDisk, { recursive: true });
  const [before] = first.lines.slice(-1);
  await post(["lost 1", "lost 2"]);
  const seen = { "last-event-id": String((before?.seq ?? 0) + 2), "a2e-boot": first.boot };
  expect((await readLines(url, session, 5)).lines.at(-1)?.seq).toBe(Number(seen["last-event-id"]));

  await host.restart(async () => {
    await rm(host.folder, { recursive: true });
    await cp(onDisk, host.folder, { recursive: true });
  });
  await post(["c", "d", "e", "f"], seen);
  const again = await readLines(url, { ...session, ...seen }, 4);
  expect(again.from).toBe(String(before?.seq));
  expect(again.lines.map(({ req_id }) => req_id)).toEqual(["c", "d", "e", "f"]);
  await host.end();
  await rm(onDisk, { recursive: true });
});

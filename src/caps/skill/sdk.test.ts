// Every message of this capability must pass the decoder of the Python SDK, which drops messages that it cannot parse.
import { expect, test } from "vitest";
import { decodeAsSdk } from "../../conformance/sdk-decoder.ts";
import { startSkills } from "./start-skills.suite.ts";

test("the decoder of the SDK accepts lists, results, events and errors", async () => {
  await using host = await startSkills({ builtin: true });
  await host.add("bare", "");
  await host.add(
    "full",
    "category: a\ntags: [b]\nallowed-tools: Read\ntoolkits: [c]\nmax_turns: 2\ntimeout_seconds: 1.5\nicon: x",
  );
  await host.add("blocked", "status: blocked");

  await host.skills.discover({ include_versions: true, include_archived: true });
  await host.skills.call({ name: "bare" });
  await host.skills.call({ name: "csv-summary", arguments: { csv: "a\n1" } });
  await expect(host.skills.call({ name: "none" })).rejects.toThrow();
  await expect(host.skills.call({ name: "blocked" })).rejects.toThrow();
  await expect(host.skills.call({ name: "csv-summary" })).rejects.toThrow();

  const received = host.wire.filter(({ direction }) => direction === "received").map(({ message }) => message);
  const decoded = received.map((message) => [message.type, decodeAsSdk(JSON.stringify(message))] as const);
  expect(decoded.filter(([, { kind }]) => kind !== "message")).toEqual([]);
  expect(new Set(decoded.map(([type]) => type))).toEqual(
    new Set(["handshake/resp", "skill/discover/resp", "skill/call/resp", "skill/event", "error"]),
  );
});

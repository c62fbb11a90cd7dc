// The host that transports are tested against: it echoes requests in several ways.
import { z } from "zod";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost, type HostOptions } from "../host/host.ts";
import { plugin } from "../plugin/plugin.ts";
import { type JsonObject, jsonObject } from "../protocol/json.ts";
import { call, capability, push } from "../protocol/table/capability.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";

const given = z.object({ value: jsonObject.default({}) });

const floodLine = push("echo/line", {
  doc: "A line of a flood.",
  payload: z.object({ number: z.int(), text: z.string() }),
  example: { number: 1, text: "" },
});

export const echo = capability("echo", {
  doc: "Returns its argument.",
  calls: {
    say: call("echo/say/req", "echo/say/resp", {
      about: { access: "read" },
      doc: "Returns the value as it came.",
      request: given,
      result: given,
      example: { request: { value: {} }, result: { value: {} } },
    }),
    count: call("echo/count/req", "echo/count/resp", {
      about: { access: "read" },
      doc: "Sends as many events as asked for, then answers how often this key has been counted.",
      request: z.object({ key: z.string(), events: z.int().default(0) }),
      result: z.object({ times: z.int() }),
      example: { request: { key: "a" }, result: { times: 1 } },
    }),
    keep: call("echo/keep/req", "echo/keep/resp", {
      about: { access: "write" },
      doc: "Keeps the first value it is given and returns it ever after.",
      request: given,
      result: given,
      example: { request: { value: {} }, result: { value: {} } },
    }),
    flood: call("echo/flood/req", "echo/flood/resp", {
      about: { access: "write" },
      doc: "Sends lines of a given size without waiting for the reader.",
      request: z.object({ lines: z.int(), bytes: z.int() }),
      result: z.object({}),
      example: { request: { lines: 1, bytes: 1 }, result: {} },
    }),
    die: call("echo/die/req", "echo/die/resp", {
      about: { access: "write" },
      doc: "Ends the host without an answer.",
      request: z.object({}),
      result: z.object({}),
      example: { request: {}, result: {} },
    }),
  },
  pushes: { floodLine },
});

interface EchoHostOptions extends Partial<HostOptions> {
  die?(): void;
  /** How often each key was counted. */
  counts?: Map<string, number>;
}

export function startEchoHost({
  die = () => {},
  counts = new Map(),
  ...options
}: EchoHostOptions = {}): Promise<A2EHost> {
  const echoPlugin = plugin(echo, {
    session: ({ push: pushLine }) => {
      let kept: JsonObject | undefined;
      return {
        handlers: {
          say: ({ value }) => ({ value }),
          async count({ key, events }, context) {
            const times = (counts.get(key) ?? 0) + 1;
            counts.set(key, times);
            for (let number = 1; number <= events; number++) {
              context.emit("progress", { number });
              await new Promise(setImmediate);
            }
            return { times };
          },
          keep({ value }) {
            kept ??= value;
            return { value: kept };
          },
          flood({ lines, bytes }) {
            const text = "x".repeat(bytes);
            for (let number = 1; number <= lines; number++) pushLine(floodLine, { number, text });
            return {};
          },
          die() {
            setImmediate(die);
            return new Promise<never>(() => {});
          },
        },
      };
    },
  });
  return A2EHost.start({
    plugins: [echoPlugin],
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
    ...options,
  });
}

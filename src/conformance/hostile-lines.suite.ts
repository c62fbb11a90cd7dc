// Lines that no honest peer would send, from a seed, each with the id by which it must be answered.

export interface HostileLine {
  readonly line: string;
  /** The id that a host can recover; undefined if it cannot. */
  readonly id: string | undefined;
  /** Not a message, or a message whose id cannot be returned: its error must have no req_id. */
  readonly isNobodys: boolean;
}

/** A stream of random numbers from 0 to 1 that a seed repeats (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface HostileOptions {
  readonly maxLineLength: number;
  readonly maxIdLength: number;
}

const types = [
  "ping",
  "handshake/req",
  "tool/list/req",
  "tool/call/req",
  "tool/call",
  "mcp/call_tool",
  "invoke/cancel/req",
  "session/restore/req",
  "session/snapshots/req",
  "pong",
  "error",
  "handshake/resp",
  "invoke/event",
  "tool/event",
  "tool/call/resp",
  "tool/list/resp",
  "session/closed",
  "invoke/withdrawn",
  "session/gap",
  "memory/retrieve/req",
  "SUBAGENT_SPAWN_REQ",
  "no/such/type",
  "",
  "__proto__",
  "constructor",
  "toString",
  "PING",
  "ping\u0000",
  "\ud800",
];
const toolNames = [
  "conformance_echo",
  "conformance_count",
  "conformance_fail",
  "conformance_emit",
  "conformance_denied",
  "nope",
  "",
  "__proto__",
  "\u2028",
];
const fieldNames = [
  "agent_id",
  "agent_caps",
  "auth_token",
  "filter_kind",
  "filter_tags",
  "query",
  "include_deferred",
  "session_id",
  "tool_name",
  "arguments",
  "correlation_id",
  "streaming",
  "timeout",
  "call_id",
  "reason",
  "snapshot_id",
  "label",
  "req_id",
  "code",
  "data",
  "seq",
  "kind",
  "ts",
  "__proto__",
  "constructor",
  "prototype",
  "hasOwnProperty",
  "toJSON",
  "then",
  "length",
  "",
  "\u0000",
  "😀",
];
const versions: unknown[] = ["1.0", "1.7", "2.0", "9.9", "", null, 1, 2, "one", [], {}, "1".repeat(500), "__proto__"];
const strangeNumbers = [
  "1e400",
  "-1e400",
  "0.1e-400",
  "123456789012345678901234567890",
  "-0",
  "1E+2",
  "9007199254740993",
  "5e-324",
];

/** Creates lines one by one. Most are JSON with a fault; the rest is not JSON. */
export function createHostileLines(
  random: () => number,
  { maxLineLength, maxIdLength }: HostileOptions,
): () => HostileLine {
  const recentIds: string[] = ["first"];
  let counter = 0;

  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const int = (limit: number) => Math.floor(random() * limit);
  const chance = (probability: number) => random() < probability;

  function text(): string {
    const kind = int(9);
    if (kind === 0) return "";
    if (kind === 1) return "\ud800\udc00\udfff\ud8ff".slice(int(3));
    if (kind === 2) return "x".repeat(int(3_000));
    if (kind === 3) return "\u0000\u0001\u2028\u2029\u0085\ufeff";
    if (kind === 4) return pick(toolNames);
    return String.fromCodePoint(...Array.from({ length: int(12) }, () => 1 + int(0xd7fe)));
  }

  function value(depth = 0): unknown {
    const kind = int(depth > 3 ? 6 : 9);
    if (kind === 0) return null;
    if (kind === 1) return chance(0.5);
    if (kind === 2) return pick([0, -1, 1.5, 1e308, -1e-308, 2 ** 53, int(1_000)]);
    if (kind <= 5) return text();
    if (kind === 6) return Array.from({ length: int(5) }, () => value(depth + 1));
    return record(depth + 1);
  }

  /** Built without assignment, so that a key `__proto__` stays a key. */
  function record(depth: number): object {
    return Object.fromEntries(Array.from({ length: int(5) }, () => [pick(fieldNames), value(depth)]));
  }

  function id(): unknown {
    const kind = int(20);
    if (kind === 0) return pick([7, -1.5, true, [], {}, null, ""]);
    if (kind === 1) return "i".repeat(maxIdLength + int(3) - 1);
    if (kind === 2) return text();
    if (kind <= 5) return pick(recentIds);
    counter += 1;
    const fresh = `h${counter}`;
    recentIds[int(32)] = fresh;
    return fresh;
  }

  function message(): Record<string, unknown> {
    const fields: [string, unknown][] = [["type", chance(0.03) ? value() : pick(types)]];
    if (chance(0.93)) fields.push(["id", id()]);
    if (chance(0.8)) fields.push(["version", chance(0.85) ? "1.0" : pick(versions)]);
    if (chance(0.2)) fields.push(["a2e", pick(versions)]);
    if (chance(0.5)) fields.push(["tool_name", pick(toolNames)], ["arguments", chance(0.3) ? value() : record(0)]);
    for (let count = int(4); count > 0; count--) fields.push([pick(fieldNames), value()]);
    return Object.fromEntries(fields);
  }

  function wrapDeep(): string {
    const depth = pick([70, 500, 5_000]);
    const inner = chance(0.5) ? "[".repeat(depth) + "]".repeat(depth) : `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    return JSON.stringify({ ...message(), deep: "@" }).replace('"@"', inner);
  }

  function broken(): string {
    const line = JSON.stringify(message());
    switch (int(8)) {
      case 0:
        return line.slice(0, int(line.length));
      case 1:
        return line.slice(int(line.length));
      case 2: {
        const place = int(line.length);
        return line.slice(0, place) + String.fromCharCode(int(0x10000)) + line.slice(place + 1);
      }
      case 3:
        return line + pick(["}", ",", line, "\u0000", "x"]);
      case 4:
        return JSON.stringify(pick([[], [message()], 7, "text", null, true, [[[]]]]));
      case 5:
        return Buffer.from(Array.from({ length: 1 + int(60) }, () => int(256))).toString(pick(["latin1", "utf8"]));
      case 6:
        return line.replaceAll('"', "'");
      default:
        return pick(["{", "}", "[", "nul", "NaN", "undefined", "{]", '{"', "\ufeff{}", "//", "{}{}", "'", "\\"]);
    }
  }

  function longOne(): string {
    return JSON.stringify({ type: pick(types), id: `h${++counter}`, padding: "p".repeat(maxLineLength) });
  }

  function withStrangeNumber(): string {
    return JSON.stringify({ ...message(), timeout: "@" }).replace('"@"', pick(strangeNumbers));
  }

  function make(): { line: string; id: string | undefined } {
    const kind = random();
    // Python's tokens: the only kind that JSON.parse cannot judge, so the id is passed in.
    if (kind < 0.02) {
      const known = `h${++counter}`;
      return {
        id: known,
        line: `{"type":"${pick(["ping", "no/such", "tool/list/req"])}","id":"${known}","ts":NaN,"x":[-Infinity,Infinity]}`,
      };
    }
    if (kind < 0.03) {
      const known = `h${++counter}`;
      return {
        id: known,
        line: JSON.stringify({ type: "shutdown", id: known, timeout: pick(["now", null, -1, [], {}, true]) }),
      };
    }
    const line =
      kind < 0.33
        ? broken()
        : kind < 0.345
          ? wrapDeep()
          : kind < 0.347
            ? longOne()
            : kind < 0.4
              ? withStrangeNumber()
              : JSON.stringify(message());
    return { line, id: undefined };
  }

  return () => {
    for (;;) {
      const made = make();
      // As it arrives: UTF-8 has no lone surrogates, and a line has no line ends.
      const line = Buffer.from(made.line.replace(/[\r\n]/g, " ")).toString("utf8");
      if (line.trim() === "") continue;
      if (made.id !== undefined) return { line, id: made.id, isNobodys: false };
      const parsed = tryParse(line);
      // A good shutdown ends the session; those are asked elsewhere.
      if (parsed?.type === "shutdown") continue;
      const id = line.length > maxLineLength ? undefined : recoverableId(parsed?.id, maxIdLength);
      const hasNoId = parsed !== undefined && (parsed.id === undefined || parsed.id === null || parsed.id === "");
      return { line, id, isNobodys: id === undefined && !(hasNoId && line.length <= maxLineLength) };
    }
  };
}

function tryParse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line.trim());
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function recoverableId(id: unknown, maxIdLength: number): string | undefined {
  if (typeof id === "number") return String(id);
  return typeof id === "string" && id !== "" && id.length <= maxIdLength ? id : undefined;
}

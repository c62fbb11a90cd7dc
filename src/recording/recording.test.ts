import { expect, test } from "vitest";
import { parseRecording, RecordingError, type RecordingHeader, recordingFormat } from "./recording.ts";

const header: RecordingHeader = {
  a2e_recording: recordingFormat,
  session_id: "session",
  recorded_at: 1,
  host: { started_at: 1, is_handshake_required: true, snapshot_mode: "hybrid", limits: {}, plugins: [] },
};

const textOf = (...lines: unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

test("a whole recording has its entries and is not cut", () => {
  const entries = [
    ["in", "{}"],
    ["turn"],
    ["in", null],
    ["expire", "1"],
    ["value", "", "now", 5],
    ["value", "1", "sql x"],
    ["thrown", "1", "sql y", { message: "full", code: "SQLITE_FULL" }],
    ["event", "1/1", true, "log", { a: 1 }],
    ["effect", "1/1", "tool", true, { value: { data: 1 } }],
    ["effect", "1/2", "store", false, {}],
    ["out", "{}"],
    ["aside", "{}"],
  ];
  expect(parseRecording(textOf(header, ...entries, ["end", "closed"]))).toEqual({ header, entries, cut: undefined });
});

test("the reason of a missing end is reported", () => {
  expect(parseRecording(textOf(header, ["in", "{}"])).cut).toBe("the session went on");
  expect(parseRecording(`${textOf(header)}["in","{`)).toMatchObject({ entries: [], cut: "its last line is torn" });
  expect(parseRecording(textOf(header, ["end", "a limit"])).cut).toBe("a limit");
});

test.each([
  ["", /line 1 is damaged: not JSON/],
  ["hello\n", /line 1 is damaged: not JSON/],
  ["null\n", /not a recording of a session/],
  ['{"a2e":"1.0"}\n', /not a recording of a session/],
  [textOf({ ...header, a2e_recording: recordingFormat + 1 }), /was written by a newer release; this release reads 1/],
  [textOf({ ...header, a2e_recording: 0 }), /is no longer read/],
  [textOf({ ...header, session_id: 7 }), /line 1 is damaged: session_id/],
  [`${textOf(header)}["in","{\n["end","closed"]\n`, /line 2 is damaged: not JSON/],
  [textOf(header, ["out", "no JSON"]), /line 2 is damaged/],
  [textOf(header, ["in"]), /line 2 is damaged/],
  [textOf(header, ["in", "{}"], ["constructor"]), /line 3 is damaged/],
  [textOf(header, { in: 1 }), /line 2 is damaged/],
  [textOf(header, ["effect", "1", "tool", true, { value: 1, error: 2 }]), /line 2 is damaged/],
])("a damaged recording is refused with the place of the damage: %j", (text, problem) => {
  expect(() => parseRecording(text)).toThrow(RecordingError);
  expect(() => parseRecording(text)).toThrow(problem);
});

test("a recording of format 1 is read, and the origin of its session is converted to the current form", () => {
  const about = {
    principal: { id: "ada", isAuthenticated: true },
    granted: ["memory"],
    dialect: "sdk",
    parent: "other",
  };
  const rest = { states: { memory: { key: 1 } }, lines: ["{}"], acknowledged: 1 };
  const old = { ...header, a2e_recording: 1, origin: { ...about, ...rest, created_at: 5, last_seq: 2 } };
  const { header: read } = parseRecording(textOf(old, ["end", "closed"]));
  expect(read.origin).toEqual({ record: { ...about, createdAt: 5, lastActiveAt: 5 }, ...rest, lastSeq: 2 });
});

import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Need, testWith } from "../testing/needs.suite.ts";
import { createRegistry, maxSeries } from "./registry.ts";

const promtool: Need = {
  name: "promtool (Debian package prometheus)",
  isMet: spawnSync("promtool", ["--version"]).status === 0,
};

test("counters, gauges and histograms are rendered as Prometheus text", () => {
  const registry = createRegistry();
  const calls = registry.counter("calls_total", "Calls.", ["type", "code"]);
  const seconds = registry.histogram("call_seconds", "Time.", ["type"], [0.1, 1]);
  registry.gauge("sessions", "Sessions.", [], () => [[[], 3]]);
  calls.count(["a", "ok"]);
  calls.count(["a", "ok"]);
  calls.count(["a", "timeout"]);
  for (const value of [0.05, 0.1, 0.5, 7]) seconds.observe(["a"], value);

  expect(registry.render().split("\n")).toEqual([
    "# HELP calls_total Calls.",
    "# TYPE calls_total counter",
    'calls_total{type="a",code="ok"} 2',
    'calls_total{type="a",code="timeout"} 1',
    "# HELP call_seconds Time.",
    "# TYPE call_seconds histogram",
    'call_seconds_bucket{type="a",le="0.1"} 2',
    'call_seconds_bucket{type="a",le="1"} 3',
    'call_seconds_bucket{type="a",le="+Inf"} 4',
    'call_seconds_sum{type="a"} 7.65',
    'call_seconds_count{type="a"} 4',
    "# HELP sessions Sessions.",
    "# TYPE sessions gauge",
    "sessions 3",
    "",
  ]);
});

test("label values beyond the limit are counted together as other, and none is lost", () => {
  const registry = createRegistry();
  const calls = registry.counter("calls_total", "Calls.", ["type"]);
  for (let index = 0; index < 10_000; index++) calls.count([`type-${index}`]);
  const series = registry
    .render()
    .split("\n")
    .filter((text) => text.startsWith("calls_total{"));
  expect(series).toHaveLength(maxSeries + 1);
  expect(series.at(-1)).toBe(`calls_total{type="other"} ${10_000 - maxSeries}`);
});

test("any text in a label stays on its line and can be read back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string(), (one, other) => {
      const registry = createRegistry();
      registry.counter("calls_total", "A\nhelp\\text.", ["one", "other"]).count([one, other]);
      const [help, , sample = "", ...rest] = registry.render().split("\n");
      expect([help, rest]).toEqual(["# HELP calls_total A\\nhelp\\\\text.", [""]]);
      const read = [...sample.matchAll(/="((?:[^"\\]|\\.)*)"/gsu)].map(([, text = ""]) =>
        text.replace(/\\(.)/gs, (_, character: string) => (character === "n" ? "\n" : character)),
      );
      expect(read).toEqual([one, other]);
    }),
  );
});

testWith(promtool)("promtool accepts the text, with hostile labels too", () => {
  const registry = createRegistry();
  const calls = registry.counter("calls_total", "Calls that ended.", ["type"]);
  for (const type of ["a", 'quote"', "back\\slash", "new\nline", "🦜", "", "}{"]) calls.count([type]);
  registry.histogram("call_duration_seconds", "Time of calls.", ["type"], [0.1, 1]).observe(["a"], 0.2);
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: registry.render() });
  expect({ status, output: `${stdout}${stderr}` }).toEqual({ status: 0, output: "" });
});

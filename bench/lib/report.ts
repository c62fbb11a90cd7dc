// From samples to what people and programs read.
import type { Bar, Benchmark, Sample } from "./definition.ts";
import type { Samples } from "./rounds.ts";

export interface BarResult {
  id: string;
  ours: number;
  peer: number;
  ratio: number;
  /** NaN, and null in JSON, for what is only reported. */
  bar: number;
  ok: boolean;
  /** As in the table of bars: `≥ 10`, `≤ 0.25`, or empty. */
  wanted: string;
  claim?: string;
}

export function judge(benchmark: Benchmark, samples: Samples): BarResult[] {
  return benchmark.bars.map((bar) => {
    const ours = valuesOf(samples, bar.ours, bar.measure);
    const peer = valuesOf(samples, bar.peer, bar.measure);
    const ratio = median(ours.map((value, round) => value / (peer[round] ?? Number.NaN)));
    const limit = bar.atLeast ?? bar.atMost ?? Number.NaN;
    const ok = Number.isNaN(limit) || (bar.atLeast === undefined ? ratio <= limit : ratio >= limit);
    return {
      id: bar.id,
      ours: rounded(median(ours)),
      peer: rounded(median(peer)),
      ratio: rounded(ratio),
      bar: limit,
      ok,
      wanted: wantedText(bar),
      ...(bar.claim === undefined ? {} : { claim: bar.claim }),
    };
  });
}

function wantedText({ atLeast, atMost }: Bar): string {
  if (atLeast !== undefined) return `≥ ${atLeast}`;
  return atMost === undefined ? "" : `≤ ${atMost}`;
}

function valuesOf(samples: Samples, caseId: string, measure: keyof Sample): number[] {
  return (samples[caseId] ?? []).map((sample) => sample[measure] ?? Number.NaN);
}

export function toTable(benchmark: Benchmark, samples: Samples, results: readonly BarResult[]): string {
  const cases = Object.entries(benchmark.cases).map(([id, { title }]) => {
    const of = (measure: keyof Sample) => valuesOf(samples, id, measure);
    const speeds = of("perSecond");
    return [
      title,
      format(median(speeds)),
      `${format(Math.min(...speeds))} … ${format(Math.max(...speeds))}`,
      format(median(of("p50Us"))),
      format(median(of("p99Us"))),
      format(median(of("cpuUs"))),
      format(median(of("heapKb"))),
      format(median(of("totalMs"))),
    ];
  });
  const bars = results.map(({ id, ours, peer, ratio, ok, wanted }, index) => {
    const bar = benchmark.bars[index];
    return [
      id,
      `${bar?.ours} : ${bar?.peer}`,
      format(ours),
      format(peer),
      format(ratio),
      wanted,
      wanted === "" ? "" : ok ? "met" : "MISSED",
    ];
  });
  return [
    `## ${benchmark.id}: ${benchmark.title}`,
    "",
    ...align([
      ["case", "per second", "slowest … fastest", "p50 µs", "p99 µs", "CPU µs", "heap kB", "total ms"],
      ...cases,
    ]),
    "",
    ...align([["bar", "ours : peer", "ours", "peer", "ratio", "wanted", ""], ...bars]),
    "",
  ].join("\n");
}

function align(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join(" | ")} |`,
  );
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [lines[0] ?? "", rule, ...lines.slice(1)];
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((one, other) => one - other);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[(sorted.length >> 1) - 1] ?? Number.NaN)) / 2;
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

function format(value: number): string {
  if (!Number.isFinite(value)) return "";
  return value >= 1000 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}

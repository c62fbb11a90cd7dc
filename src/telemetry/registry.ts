// Counters, gauges and histograms, rendered as Prometheus text. A small part of what prom-client does, at a sixth of its cost
// per count: a call of a host takes microseconds.

export type LabelValues = readonly string[];

export interface Counter {
  /** Adds 1 to the series with these label values. */
  count(values: LabelValues): void;
}

export interface Histogram {
  observe(values: LabelValues, value: number): void;
}

export interface Registry {
  counter(name: string, help: string, labels: readonly string[]): Counter;
  /** `bounds` are the upper limits of the buckets, ascending; a last bucket without a limit is added. */
  histogram(name: string, help: string, labels: readonly string[], bounds: readonly number[]): Histogram;
  /** `read` is called for each scrape, and returns every series with its value. */
  gauge(name: string, help: string, labels: readonly string[], read: () => Iterable<Sample>): void;
  /** The same for a total that only grows. */
  total(name: string, help: string, labels: readonly string[], read: () => Iterable<Sample>): void;
  render(): string;
}

export type Sample = readonly [values: LabelValues, value: number];

/**
 * A metric has at most this many series. Further label values are counted together as `other`, so that a peer that invents
 * names uses up neither the memory of the host nor that of Prometheus.
 */
export const maxSeries = 1_000;

const otherValue = "other";

export function createRegistry(): Registry {
  const metrics: (() => string)[] = [];
  const add = (name: string, help: string, type: string, lines: () => string) =>
    void metrics.push(() => `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines()}`);
  const addSamples =
    (type: string) => (name: string, help: string, labels: readonly string[], read: () => Iterable<Sample>) =>
      add(name, help, type, () => Array.from(read(), ([values, value]) => line(name, labels, values, value)).join(""));

  return {
    counter(name, help, labels) {
      const series = createSeries(labels, () => ({ value: 0 }));
      add(name, help, "counter", () => series.render((values, { value }) => line(name, labels, values, value)));
      return {
        count(values) {
          series.at(values).value += 1;
        },
      };
    },
    histogram(name, help, labels, bounds) {
      const series = createSeries(labels, () => ({ counts: new Float64Array(bounds.length + 1), sum: 0 }));
      add(name, help, "histogram", () =>
        series.render((values, { counts, sum }) => {
          let total = 0;
          const buckets = [...bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
            total += counts[index] as number;
            return line(`${name}_bucket`, [...labels, "le"], [...values, formatNumber(bound)], total);
          });
          return `${buckets.join("")}${line(`${name}_sum`, labels, values, sum)}${line(`${name}_count`, labels, values, total)}`;
        }),
      );
      return {
        observe(values, value) {
          const entry = series.at(values);
          entry.sum += value;
          let index = 0;
          while (index < bounds.length && value > (bounds[index] as number)) index++;
          entry.counts[index] = (entry.counts[index] as number) + 1;
        },
      };
    },
    gauge: addSamples("gauge"),
    total: addSamples("counter"),
    render: () => metrics.map((metric) => metric()).join(""),
  };
}

function createSeries<Entry>(labels: readonly string[], create: () => Entry) {
  const entries = new Map<string, { readonly values: LabelValues; readonly entry: Entry }>();
  const other = labels.map(() => otherValue);
  const at = (values: LabelValues): Entry => {
    const key = values.length === 1 ? (values[0] as string) : values.join("\n");
    const known = entries.get(key);
    if (known !== undefined) return known.entry;
    if (entries.size >= maxSeries && values !== other) return at(other);
    const entry = create();
    entries.set(key, { values, entry });
    return entry;
  };
  const render = (show: (values: LabelValues, entry: Entry) => string) =>
    Array.from(entries.values(), ({ values, entry }) => show(values, entry)).join("");
  return { at, render };
}

function line(name: string, labels: readonly string[], values: LabelValues, value: number): string {
  const shown = labels.map((label, index) => `${label}="${escapeLabel(values[index] ?? "")}"`).join(",");
  return `${name}${shown === "" ? "" : `{${shown}}`} ${formatNumber(value)}\n`;
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

// A chain as a picture: boxes, the edges between them, and after a run the time and outcome of each node.
import type { Edge, Plan, PlannedNode } from "../../../caps/chains/plan/plan.ts";
import { type LayoutSizes, layOut, type Point } from "./layout.ts";

export interface NodeTiming {
  readonly state: "done" | "failed" | "skipped";
  /** Since the start of the run. */
  readonly startedMs: number;
  readonly durationMs: number;
}

export interface DrawOptions {
  readonly title?: string;
  /** By node, after a run. */
  readonly timings?: ReadonlyMap<string, NodeTiming>;
}

const sizes: LayoutSizes = { nodeWidth: 168, nodeHeight: 52, columnGap: 64, rowGap: 20, margin: 24 };
const titleHeight = 30;
const barHeight = 4;

const fills: Record<string, string> = {
  tool: "#e8f1fb",
  action: "#e8f1fb",
  skill: "#efe9fb",
  proc: "#e9f5ec",
  branch: "#fdf3d8",
  map: "#e4f4f4",
  gather: "#f1f1f1",
  reduce: "#f1f1f1",
  approval: "#fde8e4",
};
const borders = { done: "#2f8f4e", failed: "#c0392b", skipped: "#b5b5b5", none: "#5b6b7b" } as const;
const lines: Record<Edge["kind"], string> = {
  next: "#5b6b7b",
  wait: "#9aa7b3",
  true: "#2f8f4e",
  false: "#b07a10",
  error: "#c0392b",
};

/** SVG that stands by itself: no styles, no scripts and no fonts from elsewhere. */
export function drawChain(plan: Plan, { title = "", timings }: DrawOptions = {}): string {
  const edges = plan.edges.flat();
  const { places, ways, width, height } = layOut({ levels: plan.levels, edges }, sizes);
  const totalMs = Math.max(
    1,
    ...Array.from(timings?.values() ?? [], ({ startedMs, durationMs }) => startedMs + durationMs),
  );
  const heading = toHeading(title, timings, totalMs);
  const top = heading === "" ? 0 : titleHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height + top)}" viewBox="0 0 ${round(width)} ${round(height + top)}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    markers(),
    heading === ""
      ? ""
      : `<text x="${sizes.margin}" y="24" font-size="14" font-weight="600" fill="#22303c">${escapeXml(heading)}</text>`,
    `<g transform="translate(0 ${top})">`,
    ...edges.map((edge, index) => drawEdge(edge, ways[index] ?? [], plan, timings)),
    ...plan.nodes.map((node) => drawNode(node, places.get(node.index) as Point, timings, totalMs)),
    "</g>",
    "</svg>",
    "",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function toHeading(title: string, timings: DrawOptions["timings"], totalMs: number): string {
  if (timings === undefined) return title;
  const count = [...timings.values()].filter(({ state }) => state !== "skipped").length;
  return `${title === "" ? "" : `${title}: `}${count} nodes in ${formatMs(totalMs)}`;
}

function markers(): string {
  const marker = ([kind, colour]: [string, string]) =>
    `<marker id="to-${kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="${colour}"/></marker>`;
  return `<defs>${Object.entries(lines).map(marker).join("")}</defs>`;
}

function drawEdge({ from, kind }: Edge, way: readonly Point[], plan: Plan, timings: DrawOptions["timings"]): string {
  const [start, ...rest] = way;
  if (start === undefined) return "";
  let path = `M${round(start.x)} ${round(start.y)}`;
  let before = start;
  for (const point of rest) {
    const bend = (point.x - before.x) / 2;
    path += `C${round(before.x + bend)} ${round(before.y)} ${round(point.x - bend)} ${round(point.y)} ${round(point.x)} ${round(point.y)}`;
    before = point;
  }
  const dash = kind === "error" ? ' stroke-dasharray="5 3"' : kind === "wait" ? ' stroke-dasharray="2 3"' : "";
  const isFaint = timings?.get(plan.nodes[from]?.id ?? "")?.state === "skipped" ? ' opacity="0.4"' : "";
  const line = `<path d="${path}" fill="none" stroke="${lines[kind]}" stroke-width="1.4"${dash}${isFaint} marker-end="url(#to-${kind})"/>`;
  return kind === "next" || kind === "wait" ? line : line + edgeLabel(kind, start);
}

function edgeLabel(kind: Edge["kind"], { x, y }: Point): string {
  const above = kind === "true" ? -8 : 16;
  return `<text x="${round(x + 4)}" y="${round(y + above)}" font-size="10" fill="${lines[kind]}">${kind}</text>`;
}

function drawNode(node: PlannedNode, { x, y }: Point, timings: DrawOptions["timings"], totalMs: number): string {
  const { nodeWidth: width, nodeHeight: height } = sizes;
  const [left, top] = [x - width / 2, y - height / 2];
  const timing = timings?.get(node.id);
  const border = timings === undefined ? borders.none : borders[timing?.state ?? "skipped"];
  const isPassed = timings !== undefined && (timing === undefined || timing.state === "skipped");
  const fill = isPassed ? "#fafafa" : (fills[node.work.kind] ?? "#ffffff");
  const ink = isPassed ? "#9a9a9a" : "#22303c";
  const parts = [
    `<rect x="${round(left)}" y="${round(top)}" width="${width}" height="${height}" rx="7" fill="${fill}" stroke="${border}" stroke-width="${timing?.state === "failed" ? 2 : 1.3}"${isPassed ? ' stroke-dasharray="4 3"' : ""}/>`,
    `<text x="${round(left + 10)}" y="${round(top + 20)}" font-weight="600" fill="${ink}">${escapeXml(cut(node.id, 21))}</text>`,
    `<text x="${round(left + 10)}" y="${round(top + 36)}" font-size="11" fill="${isPassed ? "#b0b0b0" : "#5b6b7b"}">${escapeXml(cut(describe(node), 25))}</text>`,
  ];
  if (timing !== undefined && timing.state !== "skipped") parts.push(drawTiming(timing, left, top, totalMs, border));
  return `<g><title>${escapeXml(titleOf(node, timing))}</title>${parts.join("")}</g>`;
}

/** When within the whole run it worked, as a bar along the lower edge. */
function drawTiming(
  { startedMs, durationMs }: NodeTiming,
  left: number,
  top: number,
  totalMs: number,
  colour: string,
): string {
  const { nodeWidth, nodeHeight } = sizes;
  const inner = nodeWidth - 20;
  const y = round(top + nodeHeight - barHeight - 5);
  const start = left + 10 + (startedMs / totalMs) * inner;
  const length = Math.max(2, Math.min((durationMs / totalMs) * inner, left + 10 + inner - start));
  return [
    `<rect x="${round(left + 10)}" y="${y}" width="${inner}" height="${barHeight}" rx="2" fill="#d9e0e6"/>`,
    `<rect x="${round(start)}" y="${y}" width="${round(length)}" height="${barHeight}" rx="2" fill="${colour}"/>`,
    `<text x="${round(left + nodeWidth - 10)}" y="${round(top + 20)}" font-size="11" text-anchor="end" fill="#5b6b7b">${formatMs(durationMs)}</text>`,
  ].join("");
}

function describe({ work }: PlannedNode): string {
  switch (work.kind) {
    case "branch":
      return "branch";
    case "map":
      return `map: ${describe(work.each)}`;
    case "gather":
      return "gather";
    case "approval":
      return work.message === "" ? "approval" : `approval: ${work.message}`;
    default:
      return work.name === "" ? work.kind : `${work.kind}: ${work.name}`;
  }
}

function titleOf(node: PlannedNode, timing: NodeTiming | undefined): string {
  const when =
    timing === undefined
      ? ""
      : ` (${timing.state}, after ${formatMs(timing.startedMs)}, ${formatMs(timing.durationMs)})`;
  return `${node.id}: ${describe(node)}${when}`;
}

function formatMs(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

/** Ids and names are untrusted; control characters are not valid in XML. */
function escapeXml(text: string): string {
  return text
    .replace(/\p{Cc}|\p{Cs}|[\ufffe\uffff]/gu, " ")
    .replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

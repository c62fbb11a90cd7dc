// Runs the requirements against any host, over every transport by which it can be reached.
import { messageOf } from "../protocol/errors.ts";
import { Skip } from "./check.ts";
import { SessionPool, type Survey, type Target } from "./context.ts";
import type { TransportKind } from "./link.ts";
import { createDirectLinks, type HostFactory } from "./links/direct.ts";
import { createHttpLinks } from "./links/http.ts";
import { createStdioLinks } from "./links/stdio.ts";
import { createWeb } from "./links/web.ts";
import { createWebSocketLinks } from "./links/websocket.ts";
import { type ActiveRequirement, type Level, missingNeed, type Requirement } from "./requirement.ts";
import { requirements as allRequirements } from "./requirements/all.ts";
import { createTraffic, type Traffic } from "./traffic.ts";

export interface ConformanceOptions {
  /**
   * `http://…` or `ws://…` for a running host, a command line to start a host, or a factory for a host in this
   * process.
   */
  target: string | HostFactory;
  /** The token for the handshake. */
  token?: string;
  /** Only requirements with this text in their id or title, in any case. */
  filter?: string;
  transports?: readonly TransportKind[];
  onResult?(result: ConformanceResult): void;
  /** How long the host may take for an answer that it should send at once. */
  deadlineMs?: number;
  /** Receives all messages of a transport, once its requirements are done. */
  onTraffic?(transport: TransportKind, traffic: Traffic): void;
  /** For tests of the suite itself. */
  requirements?: readonly Requirement[];
}

export interface ConformanceResult {
  id: string;
  title: string;
  source: string;
  level: Level;
  transport: TransportKind;
  status: "passed" | "failed" | "skipped";
  /** The expected and the actual value, or why it was skipped. */
  message?: string;
}

export interface ConformanceReport {
  results: ConformanceResult[];
  score: { passed: number; failed: number; skipped: number };
}

/** How many requirements run at the same time, by the cost of a session. */
const parallelRuns: Record<TransportKind, number> = { direct: 8, http: 8, websocket: 8, stdio: 2 };

export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { filter = "", deadlineMs = 10_000, requirements = allRequirements } = options;
  const chosen = requirements.filter(({ id, title }) => `${id} ${title}`.toLowerCase().includes(filter.toLowerCase()));
  const report: ConformanceReport = { results: [], score: { passed: 0, failed: 0, skipped: 0 } };
  const wanted = options.transports;
  for (const transport of transportsOf(options.target)) {
    if (wanted !== undefined && !wanted.includes(transport)) continue;
    const traffic = createTraffic();
    const { target, close } = await createTarget(options.target, transport, traffic, options.token ?? "", deadlineMs);
    try {
      await runOver(target, chosen, (result) => {
        report.results.push(result);
        report.score[result.status] += 1;
        options.onResult?.(result);
      });
      options.onTraffic?.(transport, traffic);
    } finally {
      await close();
    }
  }
  return report;
}

function transportsOf(target: string | HostFactory): TransportKind[] {
  if (typeof target !== "string") return ["direct"];
  if (/^wss?:\/\//.test(target)) return ["websocket"];
  return /^https?:\/\//.test(target) ? ["http", "websocket"] : ["stdio"];
}

interface OpenTarget {
  target: Target;
  close(): Promise<void>;
}

async function createTarget(
  to: string | HostFactory,
  transport: TransportKind,
  traffic: Traffic,
  token: string,
  deadlineMs: number,
): Promise<OpenTarget> {
  const shared = { transport, traffic, token, deadlineMs };
  if (typeof to !== "string") {
    const host = await to();
    return { target: { ...shared, openLink: createDirectLinks(host) }, close: () => host.close() };
  }
  if (transport === "stdio")
    return { target: { ...shared, openLink: createStdioLinks(to, traffic), command: to }, close: async () => {} };
  // The same server, whether it is named by http or ws.
  const url = to.replace(/^ws/, "http").replace(/\/ws\/?$/, "");
  const web = createWeb(url, traffic, deadlineMs);
  const openLink = transport === "http" ? createHttpLinks(web) : createWebSocketLinks(url, deadlineMs);
  return { target: { ...shared, openLink, web, url }, close: async () => web.close() };
}

async function runOver(
  target: Target,
  requirements: readonly Requirement[],
  onResult: (result: ConformanceResult) => void,
): Promise<void> {
  const pool = new SessionPool(target);
  const { transport, traffic } = target;
  const judge = async (requirement: Requirement, ask: () => Promise<void> | void) => {
    const { id, title, source, level } = requirement;
    const outcome = await outcomeOf(ask);
    onResult({ id, title, source, level, transport, ...outcome });
  };
  try {
    const survey = await surveyOf(pool);
    const applicable = requirements.filter(
      ({ transports }) => transports === undefined || transports.includes(transport),
    );
    const waiting = applicable.filter((requirement): requirement is ActiveRequirement => "run" in requirement);
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const requirement = next;
        await judge(requirement, async () => {
          if (typeof survey === "string") throw new Error(survey);
          const missing = missingNeed(requirement.needs, survey);
          if (missing !== undefined) throw new Skip(missing);
          await pool.lend(survey, (context) => requirement.run(context));
        });
      }
    };
    await Promise.all(Array.from({ length: parallelRuns[transport] }, work));
    await pool.close();
    for (const requirement of applicable) {
      if ("review" in requirement) await judge(requirement, () => requirement.review(traffic));
    }
  } finally {
    await pool.close();
  }
}

/**
 * The features of the host, or the reason why it could not be queried: then every requirement fails with that reason.
 */
async function surveyOf(pool: SessionPool): Promise<Survey | string> {
  try {
    return await pool.survey();
  } catch (error) {
    return `the host could not be asked for its features: ${(error as Error).message}`;
  }
}

async function outcomeOf(ask: () => Promise<void> | void): Promise<Pick<ConformanceResult, "status" | "message">> {
  try {
    await ask();
    return { status: "passed" };
  } catch (error) {
    if (error instanceof Skip) return { status: "skipped", message: error.message };
    return { status: "failed", message: messageOf(error) };
  }
}

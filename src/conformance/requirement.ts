// A requirement. Each stands alone: it opens its own session or borrows one, and leaves nothing behind.
import type { Context, Survey } from "./context.ts";
import type { TransportKind } from "./link.ts";
import { type ReferenceEnvironment, referenceFile } from "./reference-data.ts";
import type { ReferenceTool } from "./reference-tools.ts";
import type { Traffic } from "./traffic.ts";

/** `extension`: our addition to the protocol, which a conforming host need not have. */
export type Level = "must" | "should" | "extension";

export interface Needs {
  /** Tools of the reference set (reference-tools.ts) that the host must list. */
  readonly tools?: readonly ReferenceTool[];
  /** The host must demand a token, and the run must have been given it. */
  readonly token?: true;
  /** At least one capability of the protocol must be missing. */
  readonly missingCapability?: true;
  /** A capability that the host must grant. */
  readonly capability?: string;
  /** Environments that it must have, of those that reference-data.ts names. */
  readonly environments?: readonly ReferenceEnvironment[];
  /** The file of reference-data.ts must be in the data that every session begins with. */
  readonly file?: true;
}

interface Described {
  /** Stable: scores of different days are compared by it. */
  readonly id: string;
  /** A sentence about behaviour. */
  readonly title: string;
  /** The origin of the rule: a row of docs/reference/dialects.md, a test of the SDK, the FAQ. */
  readonly source: string;
  readonly level: Level;
  /** All transports if absent. */
  readonly transports?: readonly TransportKind[];
  readonly needs?: Needs;
}

/** Sends messages to the host and checks its answers; rejects with the expected and the actual value. */
export interface ActiveRequirement extends Described {
  run(context: Context): Promise<void>;
}

/** Checks all messages that the host sent to the other requirements over a transport. */
interface ReviewRequirement extends Described {
  review(traffic: Traffic): void;
}

export type Requirement = ActiveRequirement | ReviewRequirement;

/** Why the host cannot be asked, or undefined. */
export function missingNeed(needs: Needs | undefined, survey: Survey): string | undefined {
  for (const tool of needs?.tools ?? []) {
    if (!survey.tools.has(tool)) return `the host has no tool "${tool}" (a2e/conformance exports it)`;
  }
  if (needs?.token === true && !survey.isTokenRequired) return "the host asks for no token";
  if (needs?.missingCapability === true && survey.missing.length === 0)
    return "the host has every capability of the protocol";
  if (needs?.capability !== undefined && !survey.granted.includes(needs.capability))
    return `the host does not grant the capability "${needs.capability}"`;
  for (const environment of needs?.environments ?? []) {
    if (!survey.environments.has(environment)) return `the host has no environment "${environment}"`;
  }
  if (needs?.file === true && !survey.hasReferenceFile)
    return `the data of a session does not begin with the file "${referenceFile.name}"`;
  return undefined;
}

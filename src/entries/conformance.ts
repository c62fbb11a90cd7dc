// The public subpath `a2e/conformance`: score any host. It is a module of tools too, by which a host lets itself be asked
// more: `modules: [a2e/conformance]` and `deny: [conformance_denied]` for the tools plugin. `writeReferenceSkills` puts skills
// into a root of the skill plugin.
import { createReferenceTools } from "../conformance/reference-tools.ts";

export {
  type ConformanceOptions,
  type ConformanceReport,
  type ConformanceResult,
  runConformance,
} from "../conformance/index.ts";
export type { TransportKind } from "../conformance/link.ts";
export type { DirectHost, DirectSession, HostFactory } from "../conformance/links/direct.ts";
export { writeReferenceSkills } from "../conformance/reference-skills.ts";
export type { Level, Requirement } from "../conformance/requirement.ts";
export { requirements } from "../conformance/requirements/all.ts";
export { decodeAsSdk, type SdkDecoded } from "../conformance/sdk-decoder.ts";

export const tools = createReferenceTools();
export { referenceToolkit } from "../conformance/reference-toolkit.ts";

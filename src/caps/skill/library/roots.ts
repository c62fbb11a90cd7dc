// The folders in which a host looks for skills, by precedence.
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ParsedSkillOptions } from "../options.ts";
import { type SkillSource, skillSources } from "../protocol.ts";
import type { SkillRoot } from "./library.ts";

/** The skills of this package; `npm run build` copies them beside the built code. */
const builtinFolder = fileURLToPath(new URL("../builtin/", import.meta.url));

export function rootsOf(options: ParsedSkillOptions, home = findHome()): SkillRoot[] {
  const { builtin, base_dir } = options;
  const from = (source: SkillSource) =>
    options[source].flatMap((path) => {
      if (path !== "~" && !path.startsWith("~/")) return [{ path: resolve(base_dir, path), source }];
      return home === undefined ? [] : [{ path: join(home, path.slice(1)), source }];
    });
  const own: SkillRoot[] = builtin ? [{ path: builtinFolder, source: "system" }] : [];
  return [...skillSources.flatMap(from), ...own];
}

/** In a container, the user may have no home folder. */
function findHome(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

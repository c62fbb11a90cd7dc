// The host side of the skill capability.
import { join, relative } from "node:path";
import type { CallContext } from "../../plugin/call-context.ts";
import { type Plugin, type PluginContext, plugin, type SessionContext } from "../../plugin/plugin.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { RequestOf } from "../../protocol/table/capability.ts";
import { FolderCopies } from "./library/folder-copies.ts";
import { type SkillEntry, SkillLibrary, type SkillRoot } from "./library/library.ts";
import { LibraryWatch } from "./library/library-watch.ts";
import { readResource } from "./library/resources.ts";
import { rootsOf } from "./library/roots.ts";
import { type Skill, toDefinition } from "./library/skill.ts";
import { type ParsedSkillOptions, parseSkillOptions, type SkillOptions } from "./options.ts";
import { skill, skillsChanged } from "./protocol.ts";
import { SchemaChecks } from "./run/schema-check.ts";
import { ScriptRunner } from "./run/script-runner.ts";
import { callSkill, type SkillEngine, withSkill } from "./skill-call.ts";

/** Called for `type: skill` in a config. */
export function createPlugin(options: JsonObject): Plugin<typeof skill> {
  return createSkillPlugin(parseSkillOptions(options));
}

export function skillPlugin(options: SkillOptions = {}): Plugin<typeof skill> {
  return createSkillPlugin(parseSkillOptions(options));
}

interface Shared extends SkillEngine {
  readonly copies: FolderCopies;
  readonly watch: LibraryWatch;
}

function createSkillPlugin(options: ParsedSkillOptions): Plugin<typeof skill> {
  let shared: Shared | undefined;
  return plugin(skill, {
    exclusive: options.exclusive,
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    // Skills belong to the host; a session has no state of them.
    forking: "shared",

    async setup(context) {
      const roots = rootsOf(options);
      warnOfWritableRoots(roots, context);
      const library = new SkillLibrary(roots, context.log);
      const copies = new FolderCopies(join(context.dataDir, "skill-copies"));
      await copies.open();
      const watch = new LibraryWatch(library, roots, context.log);
      const runner = new ScriptRunner(options, context, copies);
      shared = { library, runner, schemas: new SchemaChecks(), options, copies, watch };
    },

    session(context: SessionContext) {
      if (shared === undefined) throw new Error("the skill plugin was not set up");
      const engine = shared;
      /** Folders and scripts are outside of the session: a replay takes their results from the recording. */
      const outside = <Result extends object>(call: CallContext, work: (recorded: CallContext) => Promise<Result>) =>
        context.outside(work, call);
      const stopWatching = engine.watch.onChange((changes) => context.push(skillsChanged, changes));
      return {
        handlers: {
          async discover(request, call) {
            // Watching starts with the first list: before it, agents have nothing to compare changes with, and a host
            // whose skills are not used reads no folders.
            if (options.watch) await engine.watch.start();
            return outside(call, async () => {
              const entries = await engine.library.list();
              return { skills: entries.flatMap((entry) => selectVersions(entry, request)) };
            });
          },
          call: (request, call) => outside(call, (recorded) => callSkill(request, recorded, context, engine)),
          read: (request, call) =>
            outside(call, () => withSkill(engine.library, request, (found) => readResource(found, request))),
        },
        close: () => void stopWatching(),
      };
    },

    async close() {
      await shared?.watch.close();
      await shared?.runner.close();
      await shared?.schemas.close();
      await shared?.copies.close();
      shared = undefined;
    },
  });
}

/** An agent that can write a skill can make other agents run its code. */
function warnOfWritableRoots(roots: readonly SkillRoot[], { workspaceDir, log }: PluginContext): void {
  for (const { path } of roots) {
    if (!relative(workspaceDir, path).startsWith(".."))
      log.warn("a folder of skills is in the workspace, where agents can write", { folder: path });
  }
}

type DiscoverRequest = RequestOf<(typeof skill.calls)["discover"]>;

function selectVersions({ current, versions }: SkillEntry, request: DiscoverRequest) {
  const names = versions.map(({ version }) => version);
  const shown = request.include_versions ? versions : [current];
  return shown.filter((one) => isAskedFor(one, request)).map((one) => toDefinition(one, names));
}

function isAskedFor(
  { status, tags, categories }: Skill,
  { filter_tags, filter_categories, filter_status, include_archived }: DiscoverRequest,
): boolean {
  const isWanted = filter_status.length === 0 ? status !== "Archived" : filter_status.includes(status);
  return (
    (isWanted || (include_archived && status === "Archived")) &&
    hasOne(filter_tags, tags) &&
    hasOne(filter_categories, categories)
  );
}

function hasOne(wanted: readonly string[], found: readonly string[]): boolean {
  return wanted.length === 0 || wanted.some((one) => found.includes(one));
}

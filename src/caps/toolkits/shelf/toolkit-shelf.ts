// The toolkits that are installed in one place, a session or the host, with their states: installed, configured,
// running.

import { KeyedQueue } from "../../../machinery/keyed-queue.ts";
import { problemsToText, toPath } from "../../../machinery/validation/problem-text.ts";
import type { CallContext } from "../../../plugin/call-context.ts";
import type { SessionContext } from "../../../plugin/plugin.ts";
import type { Secrets } from "../../../plugin/ports/secrets.ts";
import type { ToolCatalogue, ToolProblem } from "../../../plugin/tool-catalogue.ts";
import { A2EError, fail, messageOf } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Toolkit } from "../define-toolkit.ts";
import { badConfig, nameTaken, notInstalled, startFailed, unknownToolkit } from "../problems.ts";
import { checkConfig } from "../secrets/config-check.ts";
import { sealNewlySecret } from "../secrets/newly-secret.ts";
import { sealSecrets, unsealSecrets } from "../secrets/sealed-secrets.ts";
import { joinSecrets, type SplitConfig } from "../secrets/secret-values.ts";
import { RunningToolkit, type ToolkitEnvironment } from "./running-toolkit.ts";
import type { ToolkitRecord, ToolkitRecords } from "./toolkit-record.ts";

export interface ShelfOptions {
  readonly toolkits: ReadonlyMap<string, Toolkit>;
  readonly catalogue: ToolCatalogue;
  readonly records: ToolkitRecords;
  readonly secrets: Secrets;
  readonly environment: ToolkitEnvironment;
  /** Records the results of toolkits for a replay of the session; absent for toolkits that all sessions share. */
  readonly outside?: SessionContext["outside"];
}

/** The outcome of an attempt to configure, without secrets; recorded with the session. */
type Attempt = { problems: ToolProblem[] } | { config: JsonObject; secrets: string[]; error: string };

export class ToolkitShelf {
  readonly #options: ShelfOptions;
  readonly #running = new Map<string, { toolkit: RunningToolkit; removeTools(): void }>();
  /** Changes of the same toolkit run one after the other. */
  readonly #turns = new KeyedQueue();
  /** Why a toolkit that should run does not. Not stored: the cause may be gone at the next start. */
  readonly #troubles = new Map<string, string>();
  #isClosed = false;

  /** Restores the toolkits of the records: their tools are available at once, and each starts with its first call. */
  constructor(options: ShelfOptions) {
    this.#options = options;
    for (const name of options.records.names()) this.#resume(name);
  }

  get names(): string[] {
    return this.#options.records.names();
  }

  /** The number of names in use, including those of running changes. */
  get takenCount(): number {
    return new Set([...this.names, ...this.#turns.keys]).size;
  }

  get(name: string): ToolkitRecord | undefined {
    const record = this.#options.records.get(name);
    if (record === undefined) return undefined;
    const trouble = this.#troubles.get(name);
    if (trouble !== undefined) return { ...record, state: "configured", error: trouble };
    const running = this.#running.get(name)?.toolkit;
    // The toolkit starts with the first call that needs it, and a replay makes no such call.
    const error = running === undefined ? "" : this.#outside(() => running.startError);
    return error === "" ? record : { ...record, error };
  }

  install(name: string, toolkit: Toolkit): ToolkitRecord {
    const known = this.get(name);
    if (known !== undefined) return known;
    const record: ToolkitRecord = {
      toolkit: toolkit.name,
      state: "installed",
      config: {},
      secrets: [],
      sealed: "",
      error: "",
    };
    this.#options.records.set(name, record);
    return record;
  }

  /**
   * Rejects with the error to answer; the earlier config then stays in effect. Without a context, nothing is recorded.
   */
  configure(
    name: string,
    toolkit: Toolkit,
    config: JsonObject,
    { mustStart = true, context }: { mustStart?: boolean; context?: CallContext } = {},
  ): Promise<ToolkitRecord> {
    return this.#inTurn(name, () => this.#configure(name, toolkit, config, mustStart, context));
  }

  async #configure(
    name: string,
    toolkit: Toolkit,
    given: JsonObject,
    mustStart: boolean,
    context: CallContext | undefined,
  ): Promise<ToolkitRecord> {
    const { outside, records, secrets: port } = this.#options;
    const holder = records.get(name)?.toolkit ?? toolkit.name;
    // The change that ran before this one may have used the name for another toolkit.
    if (holder !== toolkit.name) throw nameTaken(name, `it stands for "${holder}"`);
    let running: RunningToolkit | undefined;
    let sealed = "";
    const attempt = async (): Promise<Attempt> => {
      const checked = checkConfig(toolkit, given);
      if ("problems" in checked) return checked;
      const { shown, secrets } = checked;
      sealed = sealSecrets(port, toolkit, secrets);
      const error = await troubleOf(async () => {
        running = this.#create(name, toolkit, checked);
        if (mustStart) await running.start(context?.signal);
      });
      return { config: shown, secrets: secrets.map(([path]) => toPath(path)), error };
    };
    const isRecorded = context !== undefined && outside !== undefined;
    const outcome = isRecorded ? await outside(attempt, context) : await attempt();
    if ("problems" in outcome) throw badConfig(name, outcome.problems);
    const isRunning = mustStart && outcome.error === "";
    // After a timeout or a cancellation the agent already has its answer, so the toolkit must not change any more.
    const isOver = this.#isClosed || context?.isEnded === true;
    if (isOver || !isRunning) void running?.stop();
    if (isOver) throw new A2EError("cancelled", "the call ended before the toolkit was configured");
    if (outcome.error !== "" && this.#running.has(name)) throw startFailed(name, outcome.error);
    // A replay has the recorded outcome only, without the secrets, so it creates the toolkit from that.
    if (isRunning) this.#replace(name, running ?? this.#create(name, toolkit, { shown: outcome.config, secrets: [] }));
    else this.#remove(name);
    const record: ToolkitRecord = {
      toolkit: toolkit.name,
      state: isRunning ? "running" : "configured",
      ...outcome,
      sealed,
    };
    records.set(name, record);
    this.#troubles.delete(name);
    return record;
  }

  uninstall(name: string): Promise<void> {
    return this.#inTurn(name, async () => {
      if (this.get(name) === undefined) throw notInstalled(name);
      this.#remove(name);
      this.#options.records.delete(name);
      this.#troubles.delete(name);
    });
  }

  /** Removes all tools; the records stay. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const stopping = Array.from(this.#running.values(), ({ toolkit, removeTools }) => {
      removeTools();
      return toolkit.close();
    });
    this.#running.clear();
    await Promise.all(stopping);
  }

  #resume(name: string): void {
    const { records, toolkits, secrets } = this.#options;
    const kept = records.get(name);
    const known = toolkits.get(kept?.toolkit ?? "");
    const renewed = kept === undefined || known === undefined ? undefined : sealNewlySecret(kept, known, secrets);
    if (renewed !== undefined) records.set(name, renewed);
    const record = renewed ?? kept;
    if (record?.state !== "running") return;
    try {
      const toolkit = known ?? fail(unknownToolkit(record.toolkit, [...toolkits.keys()]));
      let config: SplitConfig | undefined;
      const trouble = this.#outside(() => {
        try {
          config = this.#reopen(record, toolkit);
          return "";
        } catch (error) {
          return messageOf(error);
        }
      });
      if (trouble !== "") throw new Error(trouble);
      // As above: a replay has the recorded outcome only, without the secrets.
      this.#replace(name, this.#create(name, toolkit, config ?? { shown: record.config, secrets: [] }));
    } catch (error) {
      this.#troubles.set(name, messageOf(error));
    }
  }

  #reopen({ config, sealed }: ToolkitRecord, toolkit: Toolkit): SplitConfig {
    const { secrets } = this.#options;
    // The toolkit, or the options of the operator, may have changed since it was configured.
    const checked = checkConfig(toolkit, joinSecrets(config, unsealSecrets(secrets, toolkit, sealed)));
    if (!("problems" in checked)) return checked;
    throw new Error(`its config is no longer valid: ${problemsToText(checked.problems)}; configure it again`);
  }

  #outside<Result>(work: () => Result): Result {
    const { outside } = this.#options;
    return outside === undefined ? work() : outside(work);
  }

  #add({ tools }: RunningToolkit): () => void {
    const { catalogue, outside } = this.#options;
    // Toolkits that all sessions share change independently of a session, so their tools are marked as outside.
    return catalogue.add(outside === undefined ? tools.map((tool) => ({ ...tool, isOutside: true })) : tools);
  }

  /** Throws if the toolkit itself throws; the caller stores that as the trouble of this toolkit. */
  #create(instance: string, toolkit: Toolkit, config: SplitConfig): RunningToolkit {
    return new RunningToolkit({ toolkit, instance, config, environment: this.#options.environment });
  }

  /** Replaces the running toolkit of this name. If the new tools cannot be added, nothing changes. */
  #replace(name: string, toolkit: RunningToolkit): void {
    const before = this.#running.get(name);
    before?.removeTools();
    try {
      this.#running.set(name, { toolkit, removeTools: this.#add(toolkit) });
    } catch (error) {
      if (before !== undefined) this.#running.set(name, { ...before, removeTools: this.#add(before.toolkit) });
      void toolkit.stop();
      throw nameTaken(name, messageOf(error));
    }
    void before?.toolkit.stop();
  }

  #remove(name: string): void {
    const running = this.#running.get(name);
    this.#running.delete(name);
    running?.removeTools();
    void running?.toolkit.stop();
  }

  /**
   * Work that was waiting when the shelf was closed must not change records, which may belong to another shelf by now.
   */
  #inTurn<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    return this.#turns.run(name, async () => {
      if (this.#isClosed) throw new A2EError("cancelled", "the session has ended");
      return work();
    });
  }
}

async function troubleOf(start: () => Promise<void>): Promise<string> {
  try {
    await start();
    return "";
  } catch (error) {
    return messageOf(error) || "it failed without an error message";
  }
}

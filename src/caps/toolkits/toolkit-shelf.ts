// The toolkits installed in one place: a session, or the host. Takes each through its life: installed, configured, running.
import type { CallContext } from "../../host/call-context.ts";
import type { Secrets } from "../../host/secrets.ts";
import type { ToolCatalogue, ToolProblem } from "../../host/tool-catalogue.ts";
import { toPath } from "../../host/validation/problem-text.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { checkConfig } from "./config-check.ts";
import type { Toolkit } from "./define-toolkit.ts";
import { badConfig, nameTaken, notInstalled, startFailed, unknownToolkit } from "./problems.ts";
import { runAsTool } from "./run-as-tool.ts";
import { RunningToolkit, type ToolkitEnvironment } from "./running-toolkit.ts";
import { joinSecrets, type SecretValue, splitSecrets, textsOf } from "./secret-values.ts";
import type { ToolkitRecord, ToolkitRecords } from "./toolkit-record.ts";

export interface ShelfOptions {
  readonly toolkits: ReadonlyMap<string, Toolkit>;
  readonly catalogue: ToolCatalogue;
  readonly records: ToolkitRecords;
  readonly secrets: Secrets;
  readonly environment: ToolkitEnvironment;
}

/** What came of an attempt to configure, without anything secret: recorded with the session. */
type Attempt = { problems: ToolProblem[] } | { config: JsonObject; secrets: string[]; error: string };

export class ToolkitShelf {
  readonly #options: ShelfOptions;
  readonly #running = new Map<string, { toolkit: RunningToolkit; removeTools(): void }>();
  /** The last change of each that is under way: two at once would each undo the other's. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Why those that should run do not. Not kept: what they lack may be back with the next start. */
  readonly #troubles = new Map<string, string>();
  #isClosed = false;

  /** Takes up what the records hold: tools are there at once, and what they need is started with the first call. */
  constructor(options: ShelfOptions) {
    this.#options = options;
    for (const name of options.records.names()) this.#resume(name);
  }

  get names(): string[] {
    return this.#options.records.names();
  }

  get(name: string): ToolkitRecord | undefined {
    const record = this.#options.records.get(name);
    const error = this.#troubles.get(name);
    return record === undefined || error === undefined ? record : { ...record, state: "configured", error };
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

  /** Rejects with what to answer; the earlier config then still holds. Without a context nothing is recorded of it. */
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
    let running: RunningToolkit | undefined;
    let sealed = "";
    const attempt = async (): Promise<Attempt> => {
      const checked = checkConfig(toolkit, given);
      if ("problems" in checked) return checked;
      const { shown, secrets } = splitSecrets(toolkit.configSchema, checked.value);
      sealed = this.#seal(toolkit, secrets);
      running = this.#create(name, toolkit, checked.value, secrets);
      const error = mustStart ? await tryToStart(running) : "";
      return { config: shown, secrets: secrets.map(([path]) => toPath(path)), error };
    };
    const { catalogue, records } = this.#options;
    const outcome = context === undefined ? await attempt() : await runAsTool(catalogue, context, attempt);
    if ("problems" in outcome) throw badConfig(name, outcome.problems);
    // A replay has the outcome and not what led to it, which had secrets in it.
    running ??= this.#create(name, toolkit, outcome.config, []);
    const isRunning = mustStart && outcome.error === "";
    if (this.#isClosed || !isRunning) await running.stop();
    if (this.#isClosed) throw new A2EError("cancelled", "the session has ended");
    if (outcome.error !== "" && this.#running.has(name)) throw startFailed(name, outcome.error);
    if (isRunning) this.#replace(name, running);
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

  /** Takes all tools away; records stay. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const stopping = Array.from(this.#running.values(), ({ toolkit, removeTools }) => {
      removeTools();
      return toolkit.stop();
    });
    this.#running.clear();
    await Promise.all(stopping);
  }

  #resume(name: string): void {
    const { records, toolkits } = this.#options;
    const record = records.get(name);
    if (record?.state !== "running") return;
    try {
      const toolkit = toolkits.get(record.toolkit);
      if (toolkit === undefined) throw unknownToolkit(record.toolkit, [...toolkits.keys()]);
      const secrets = this.#unseal(toolkit, record.sealed);
      this.#replace(name, this.#create(name, toolkit, joinSecrets(record.config, secrets), secrets));
    } catch (error) {
      this.#troubles.set(name, textOf(error));
    }
  }

  #create(instance: string, toolkit: Toolkit, config: JsonObject, secrets: readonly SecretValue[]): RunningToolkit {
    const { environment } = this.#options;
    return new RunningToolkit({ toolkit, instance, config, secrets: textsOf(secrets), environment });
  }

  /** Puts a toolkit in the place of the one of this name; where its tools cannot be added, nothing changes. */
  #replace(name: string, toolkit: RunningToolkit): void {
    const { catalogue } = this.#options;
    const before = this.#running.get(name);
    before?.removeTools();
    try {
      this.#running.set(name, { toolkit, removeTools: catalogue.add(toolkit.tools) });
    } catch (error) {
      if (before !== undefined)
        this.#running.set(name, { ...before, removeTools: catalogue.add(before.toolkit.tools) });
      void toolkit.stop();
      throw nameTaken(name, textOf(error));
    }
    void before?.toolkit.stop();
  }

  #remove(name: string): void {
    const running = this.#running.get(name);
    this.#running.delete(name);
    running?.removeTools();
    void running?.toolkit.stop();
  }

  #seal(toolkit: Toolkit, secrets: readonly SecretValue[]): string {
    return secrets.length === 0 ? "" : this.#options.secrets.seal(JSON.stringify(secrets), purposeOf(toolkit));
  }

  #unseal(toolkit: Toolkit, sealed: string): SecretValue[] {
    if (sealed === "") return [];
    const text = this.#options.secrets.unseal(sealed, purposeOf(toolkit));
    if (text === undefined) throw new Error("its secrets can no longer be read on this host; configure it again");
    return JSON.parse(text) as SecretValue[];
  }

  async #inTurn<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#turns.get(name);
    const turn = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    this.#turns.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    }
  }
}

async function tryToStart(toolkit: RunningToolkit): Promise<string> {
  try {
    await toolkit.start();
    return "";
  } catch (error) {
    return textOf(error) || "it failed without a reason";
  }
}

function purposeOf({ name }: Toolkit): string {
  return `toolkit ${name}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

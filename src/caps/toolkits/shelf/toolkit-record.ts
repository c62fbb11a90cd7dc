// The stored data of an installed toolkit, in the state of a session or in the host's database. Its secrets are sealed.
import type { Database } from "../../../plugin/ports/database.ts";
import type { SessionState } from "../../../plugin/session-state.ts";
import type { JsonObject } from "../../../protocol/json.ts";

export type ToolkitRecord = {
  toolkit: string;
  state: "installed" | "configured" | "running";
  /** The config without secrets. */
  config: JsonObject;
  /** Paths of the secrets in the config. */
  secrets: string[];
  sealed: string;
  error: string;
};

export interface ToolkitRecords {
  get(instance: string): ToolkitRecord | undefined;
  set(instance: string, record: ToolkitRecord): void;
  delete(instance: string): void;
  names(): string[];
}

const prefix = "toolkit:";

export function recordsOfSession(state: SessionState): ToolkitRecords {
  return {
    get: (instance) => state.get(prefix + instance) as ToolkitRecord | undefined,
    set: (instance, record) => state.set(prefix + instance, record),
    delete: (instance) => state.delete(prefix + instance),
    names: () =>
      Array.from(state.entries(), ([key]) => key)
        .filter((key) => key.startsWith(prefix))
        .map((key) => key.slice(prefix.length))
        .sort(),
  };
}

const migrations = ["CREATE TABLE toolkit (instance TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;"];

/** Read once, since no other process writes to the database of a host. */
export function recordsOfHost(database: Database): ToolkitRecords {
  database.migrate("toolkits", migrations);
  const put = database.prepare(
    "INSERT INTO toolkit (instance, record) VALUES (?, ?) ON CONFLICT (instance) DO UPDATE SET record = excluded.record",
  );
  const drop = database.prepare("DELETE FROM toolkit WHERE instance = ?");
  const rows = database.prepare("SELECT instance, record FROM toolkit").all();
  return recordsIn(
    new Map(rows.map(({ instance, record }) => [String(instance), JSON.parse(String(record)) as ToolkitRecord])),
    (instance, record) => database.write(() => put.run(instance, JSON.stringify(record))),
    (instance) => database.write(() => drop.run(instance)),
  );
}

/** For toolkits of the operator's config, which is read again at each start. */
export function recordsInMemory(): ToolkitRecords {
  return recordsIn(
    new Map(),
    () => {},
    () => {},
  );
}

function recordsIn(
  known: Map<string, ToolkitRecord>,
  onSet: (instance: string, record: ToolkitRecord) => void,
  onDelete: (instance: string) => void,
): ToolkitRecords {
  return {
    get: (instance) => known.get(instance),
    set(instance, record) {
      onSet(instance, record);
      known.set(instance, record);
    },
    delete(instance) {
      onDelete(instance);
      known.delete(instance);
    },
    names: () => [...known.keys()].sort(),
  };
}

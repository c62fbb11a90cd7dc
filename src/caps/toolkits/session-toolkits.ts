// The toolkits that one session can see: its own, and those that all sessions share.
import type { CallContext, SessionInfo } from "../../plugin/call-context.ts";
import type { Handlers } from "../../plugin/plugin.ts";
import { type A2EError, fail } from "../../protocol/errors.ts";
import type { ResultInputOf } from "../../protocol/table/capability.ts";
import { isToolkitName, type Toolkit } from "./define-toolkit.ts";
import { badAlias, nameTaken, notInstalled, notYours, operatorsOwn, tooMany, unknownToolkit } from "./problems.ts";
import type { ToolkitDefinition, toolkits } from "./protocol.ts";
import type { SessionShelf } from "./shelf/shared-shelf.ts";
import type { ToolkitRecord } from "./shelf/toolkit-record.ts";

import { isWanted, toDefinition } from "./toolkit-list.ts";

export interface SessionToolkitsOptions {
  readonly known: ReadonlyMap<string, Toolkit>;
  readonly own: SessionShelf;
  /** Toolkits with scope host. */
  readonly shared: SessionShelf;
  /** Toolkits that the config of the operator sets up. */
  readonly fixed: SessionShelf;
  readonly maxInstalled: number;
  mayChangeShared(session: SessionInfo): boolean;
}

type Result = ResultInputOf<(typeof toolkits)["calls"]["configure"]>;

/** The meaning of a name: the toolkit, and the shelf on which it is or would be installed. */
interface ToolkitPlace {
  readonly instance: string;
  readonly toolkit: Toolkit | undefined;
  readonly shelf: SessionShelf;
}

export function createSessionHandlers(options: SessionToolkitsOptions): Handlers<typeof toolkits> {
  const { known, own, shared, fixed } = options;

  const find = (instance: string): ToolkitPlace => {
    for (const shelf of [fixed, own, shared]) {
      const record = shelf.get(instance);
      if (record !== undefined) return { instance, toolkit: known.get(record.toolkit), shelf };
    }
    const toolkit = known.get(instance) ?? fail(unknownToolkit(instance, [...known.keys()]));
    return { instance, toolkit, shelf: toolkit.scope === "host" ? shared : own };
  };

  /** Like `find`; throws if this session may not change the toolkit. */
  const findMine = (instance: string, { session }: CallContext): ToolkitPlace => {
    const place = find(instance);
    const refusal = refuse(place, session);
    if (refusal !== undefined) throw refusal;
    return place;
  };

  const refuse = ({ shelf, instance }: ToolkitPlace, session: SessionInfo): A2EError | undefined => {
    if (shelf === fixed) return operatorsOwn(instance);
    return shelf === shared && !options.mayChangeShared(session) ? notYours(instance) : undefined;
  };

  const define = ({ instance, toolkit, shelf }: ToolkitPlace): ToolkitDefinition =>
    toDefinition(instance, toolkit, shelf.get(instance), shelf === own ? "session" : "host");

  const makeRoom = ({ shelf, instance }: ToolkitPlace) => {
    if (shelf === own && own.get(instance) === undefined && own.takenCount >= options.maxInstalled)
      throw tooMany(options.maxInstalled);
  };

  const configure = async (
    place: ToolkitPlace,
    config: Parameters<SessionShelf["configure"]>[2],
    mustStart: boolean,
    context: CallContext,
  ): Promise<Result> => {
    const { instance, shelf } = place;
    const toolkit = place.toolkit ?? fail(unknownToolkit(instance, [...known.keys()]));
    makeRoom(place);
    const record = await shelf.configure(instance, toolkit, config, { mustStart, context });
    return { ...toOutcome(record), toolkit_name: instance, toolkit: define(place) };
  };

  /** The place for a toolkit under an alias. If the alias is in use, it must stand for the same toolkit. */
  const findAlias = (alias: string, name: string): ToolkitPlace => {
    const toolkit = known.get(name) ?? fail(unknownToolkit(name, [...known.keys()]));
    if (alias === "" || alias === name) return find(name);
    if (!isToolkitName(alias)) throw badAlias(alias);
    for (const shelf of [fixed, own, shared]) {
      const record = shelf.get(alias);
      if (record !== undefined && (record.toolkit !== name || shelf === fixed))
        throw nameTaken(alias, `it stands for "${record.toolkit}"`);
    }
    if (known.has(alias)) throw nameTaken(alias, "a toolkit of this host has it");
    return { instance: alias, toolkit, shelf: toolkit.scope === "host" ? shared : own };
  };

  return {
    list(request) {
      const names = new Set([...known.keys(), ...fixed.names, ...shared.names, ...own.names]);
      return { toolkits: Array.from(names, (name) => define(find(name))).filter((item) => isWanted(item, request)) };
    },

    configure({ toolkit_name, name, config, schema, start }, context) {
      const place = findMine(toolkit_name || name, context);
      const given = Object.keys(config).length > 0 ? config : schema;
      return configure(place, given, start, context);
    },

    install({ toolkit_name, name, alias, config }, context) {
      const place = findAlias(alias, toolkit_name || name);
      const refusal = refuse(place, context.session);
      if (refusal !== undefined) throw refusal;
      const { instance, shelf, toolkit } = place;
      if (config !== undefined) return configure(place, config, true, context);
      makeRoom(place);
      shelf.install(instance, toolkit ?? fail(notInstalled(instance)));
      return { status: "ok", toolkit_name: instance, toolkit: define(place) };
    },

    async uninstall({ toolkit_name, name }, context) {
      const place = findMine(toolkit_name || name, context);
      await place.shelf.uninstall(place.instance);
      return { status: "ok", toolkit_name: place.instance, toolkit: define(place) };
    },
  };
}

function toOutcome({ state, error }: ToolkitRecord): Pick<Result, "status" | "message" | "error"> {
  if (state === "running") return { status: "ok" };
  return error === "" ? { status: "configured" } : { status: "partial", message: error, error };
}

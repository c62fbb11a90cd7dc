// What a call is about: the resources that it names, and whether it reads or writes. Rights are checked against this. It
// is data, so that hosts and clients in other languages can be generated from it.

/** `none`: the call needs no right, so every agent may make it, for example `ping`. */
export type Access = "read" | "write" | "none";

/**
 * The place of a value in a request or a result: `tool_name`, `config.server_id`, `cmd.0` (the first item of a list),
 * `episode_ids.*` (every item).
 */
export type FieldPath<Field extends string> = Field | `${Field}.${string}`;

type Paths<Field extends string> = FieldPath<Field> | readonly FieldPath<Field>[];

/** The call names resources of this kind. If it may name a resource and does not, it is about all of the kind. */
interface Named<Field extends string> {
  /** If there are several paths or items, the caller must be allowed to use every resource that is named. */
  readonly from: Paths<Field>;
  /** The name ends before the last of these characters: with `@`, `plan@1.2` names `plan`. */
  readonly nameEndsAt?: string;
  /** The name may be the path of a file. Then the file's own name counts as well: `/usr/bin/git` also names `git`. */
  readonly isPath?: boolean;
}

/** The call has the id of something of the session's own. The resource was checked by the call that made it. */
interface Instance<Field extends string> {
  readonly instance: Paths<Field>;
}

/** The call has an id for which the plugin finds the name. Without a plugin that does, it is about all of the kind. */
interface Resolved<Field extends string> {
  readonly resolve: Paths<Field>;
}

/** The call lists resources. Its result has only those that its caller may use. */
interface Listing {
  readonly shows: ShownResources;
}

export interface ShownResources {
  /** The field of the result that holds the list. */
  readonly at: string;
  /** The field of an item that holds its name. */
  readonly name: string;
  /**
   * The call of the same capability that uses an item. A caller who may use some items sees these; a caller who may use
   * none, such as an observer, sees the items that it may list.
   */
  readonly usedBy?: string;
}

interface AboutNothing {
  readonly access: Access;
  readonly resource?: undefined;
}

interface AboutResource {
  readonly access: "read" | "write";
  /** The kind of the resource, from `resources` of the capability. */
  readonly resource: string;
}

/** A call about nothing in particular has an access only: `{ access: "write" }`. */
export type About<Field extends string = string> =
  | AboutNothing
  | (AboutResource & ((Named<Field> & Partial<Listing>) | Instance<Field> | Resolved<Field> | Listing));

// Finds the resources that a request is about.
import type { About } from "../protocol/table/about.ts";

/**
 * Names of resources, or `some` for a request that is not about a particular resource (a list, an id of the session's
 * own), or `every` for a request that may be about any resource of its kind.
 */
export type Resources = readonly string[] | "some" | "every";

/** The name of the resource that an id stands for; undefined if the plugin does not know the id. */
export type ResolveResource = (kind: string, id: string) => string | undefined;

export type ReadResources = (
  request: Readonly<Record<string, unknown>>,
  resolve?: ResolveResource | undefined,
) => Resources;

/** Prepared once per call, since it is used for every request. */
export function createResourceReader(about: About): ReadResources {
  if (about.resource === undefined) return () => "every";
  if ("from" in about) {
    const read = createPathReader(about.from);
    const toNames = createNameReader(about);
    return (request) => {
      const found = read(request);
      // A request that may name a resource and does not is about all of them: the host may choose any.
      if (found === undefined || found.length === 0) return "every";
      return toNames === undefined ? found : found.flatMap(toNames);
    };
  }
  if ("resolve" in about) {
    const read = createPathReader(about.resolve);
    const kind = about.resource;
    return (request, resolve) => {
      const ids = read(request);
      if (resolve === undefined || ids === undefined) return "every";
      // Without an id, the plugin may know a default.
      const names = (ids.length === 0 ? [""] : ids).map((id) => resolve(kind, id));
      return names.every((name) => name !== undefined) ? names : "every";
    };
  }
  return () => "some";
}

/** The texts at all paths; undefined if there is a value that is not a text, or an empty item of a list. */
type ReadPaths = (request: Readonly<Record<string, unknown>>) => string[] | undefined;

function createPathReader(paths: string | readonly string[]): ReadPaths {
  const all = [paths].flat().map((path) => path.split("."));
  const [field] = all[0] ?? [];
  if (all.length === 1 && all[0]?.length === 1 && field !== undefined)
    return (request) => toTexts(Object.hasOwn(request, field) ? request[field] : undefined);
  return (request) => {
    const texts: string[] = [];
    for (const steps of all) if (!collect(request, steps, 0, texts)) return undefined;
    return texts;
  };
}

function toTexts(value: unknown): string[] | undefined {
  if (typeof value === "string") return value === "" ? [] : [value];
  return value === undefined || value === null ? [] : undefined;
}

/** False if a value is not a text. */
function collect(value: unknown, steps: readonly string[], at: number, texts: string[]): boolean {
  const step = steps[at];
  if (step === undefined) {
    const found = toTexts(value);
    if (found !== undefined) texts.push(...found);
    return found !== undefined;
  }
  if (value === undefined || value === null) return true;
  if (typeof value !== "object") return false;
  if (step !== "*")
    return collect(Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined, steps, at + 1, texts);
  return Object.values(value).every((item) => {
    const before = texts.length;
    return collect(item, steps, at + 1, texts) && texts.length > before;
  });
}

function createNameReader({
  nameEndsAt,
  isPath = false,
}: {
  readonly nameEndsAt?: string;
  readonly isPath?: boolean;
}): ((name: string) => string[]) | undefined {
  if (nameEndsAt === undefined && !isPath) return undefined;
  return (name) => {
    const end = nameEndsAt === undefined ? -1 : name.lastIndexOf(nameEndsAt);
    const plain = end > 0 ? name.slice(0, end) : name;
    const file = isPath ? plain.slice(plain.lastIndexOf("/") + 1) : "";
    return file === "" || file === plain ? [plain] : [plain, file];
  };
}

// Leaves the resources out of an answer that its agent may not use.
import { isJsonObject, type JsonObject } from "../protocol/json.ts";
import type { TableCall } from "./call-facts.ts";
import type { Rights } from "./rights.ts";

/** The result of a listing call as its agent may see it: the same object if nothing is left out, otherwise a copy. */
export function showResources(rights: Rights, listing: TableCall, result: JsonObject): JsonObject {
  const { about } = listing.call;
  if (rights.isEverything || !("shows" in about) || about.shows === undefined) return result;
  const { at, name } = about.shows;
  const items = result[at];
  if (!Array.isArray(items)) return result;
  const shown = rights.filter(listing, items, (item) => {
    const found = isJsonObject(item) ? item[name] : undefined;
    return typeof found === "string" ? found : "";
  });
  return shown.length === items.length ? result : { ...result, [at]: [...shown] };
}

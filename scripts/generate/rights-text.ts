// What a call is about, in the words of the reference pages.
import type { About } from "../../src/protocol/table/about.ts";
import { code, renderTable } from "./field-table.ts";

/** For example "Rights: writes `tool:` + `tool_name`." */
export function renderAbout(about: About): string {
  const { access, resource } = about;
  if (access === "none") return "Rights: none are needed.";
  const verb = access === "read" ? "reads" : "writes";
  if (resource === undefined) return `Rights: ${verb}; names no resource.`;
  const parts = [`Rights: ${verb} ${renderResource(about, resource)}.`];
  if ("shows" in about && about.shows !== undefined)
    parts.push(`\`${about.shows.at}\` of the result has only the items that the agent may use.`);
  return parts.join(" ");
}

function renderResource(about: About, kind: string): string {
  const name = code(`${kind}:…`);
  if ("from" in about) {
    const file = about.isPath ? ", by its path and by the name of its file" : "";
    const cut = about.nameEndsAt === undefined ? "" : `, up to ${code(about.nameEndsAt)}`;
    return `${name} named by ${renderPaths(about.from)}${cut}${file}`;
  }
  if ("instance" in about) return `${name}, checked by the call that gave the agent ${renderPaths(about.instance)}`;
  if ("resolve" in about) return `the ${name} that ${renderPaths(about.resolve)} stands for`;
  return `a list of ${name}`;
}

function renderPaths(paths: string | readonly string[]): string {
  return [paths].flat().map(code).join(" and ");
}

export function renderResources(resources: Readonly<Record<string, string>>): string[] {
  const rows = Object.entries(resources).map(([kind, doc]) => [code(`${kind}:…`), doc]);
  if (rows.length === 0) return [];
  return ["## Resources", "Roles allow and deny them by name.", renderTable(["Resource", "Meaning"], rows)];
}

/** A part of a host could not be started: a folder, a store. The message names the setting and the problem. */
export class HostStartError extends Error {
  override readonly name = "HostStartError";
}

/** A part of a host could not be made ready: a folder, a store. The message names the setting and says what is wrong. */
export class HostStartError extends Error {
  override readonly name = "HostStartError";
}

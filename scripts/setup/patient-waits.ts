// vi.waitFor() and vi.waitUntil() give up after one second by default. A busy machine can take that long for anything, so they
// wait as long as expect.poll() does (vitest.config.ts).
import { vi } from "vitest";

const timeout = 60_000;
const { waitFor, waitUntil } = vi;

const patient = (options: number | { timeout?: number; interval?: number } = {}) =>
  typeof options === "number" ? options : { timeout, ...options };

vi.waitFor = (check, options) => waitFor(check, patient(options));
vi.waitUntil = (check, options) => waitUntil(check, patient(options));

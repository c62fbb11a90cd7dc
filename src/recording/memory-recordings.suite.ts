// Recordings that are kept in memory, for the tests of this folder.
import type { RecordingFile, Recordings } from "./recorder.ts";

export interface MemoryRecordings extends Recordings {
  /** In the order in which their sessions began. */
  readonly texts: readonly string[];
}

export function createMemoryRecordings(): MemoryRecordings {
  const lines: string[][] = [];
  return {
    get texts() {
      return lines.map((written) => written.join(""));
    },
    create(): RecordingFile {
      const written: string[] = [];
      lines.push(written);
      return { write: (text) => void written.push(text), read: async () => written.join(""), close() {} };
    },
    async close() {},
  };
}

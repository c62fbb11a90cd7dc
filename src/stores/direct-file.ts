// Writes that are on the disk when they return, and go there past the system's cache: one call in place of a write and
// a sync.
import { closeSync, constants, openSync, writeSync } from "node:fs";
import type { DiskPace } from "./disk-pace.ts";

/** Such writes begin, end and lie in memory at multiples of this. There are disks that would do with less. */
export const directBlock = 4096;

export interface DirectFile {
  /** Whether writes should go this way now. */
  readonly isQuick: boolean;
  /** Whole blocks, in memory from `allocateBlocks`. */
  write(blocks: Uint8Array, position: number): void;
  close(): void;
}

export type OpenDirectFile = (path: string) => DirectFile | undefined;

/** Of a file that is there. Undefined where the system knows no such writes, or the file system has none. */
export function openDirectFile(path: string, pace: DiskPace): DirectFile | undefined {
  const { O_DIRECT, O_DSYNC, O_WRONLY } = constants;
  if (O_DIRECT === undefined || O_DSYNC === undefined) return undefined;
  let file: number;
  try {
    file = openSync(path, O_WRONLY | O_DIRECT | O_DSYNC);
  } catch {
    return undefined;
  }
  let hasFailed = false;
  return {
    // After a failure never again: it may be this way that does not work here, and there is another.
    get isQuick() {
      return !hasFailed && pace.isQuick;
    },
    write(blocks, position) {
      hasFailed = true;
      pace.wait(() => {
        const written = writeSync(file, blocks, 0, blocks.length, position);
        if (written < blocks.length) throw new Error(`wrote ${written} bytes of ${blocks.length}`);
      });
      hasFailed = false;
    },
    close: () => closeSync(file),
  };
}

/** Memory that begins at a multiple of a block, as that which may still grow does: it has pages of its own. */
export function allocateBlocks(bytes: number): Buffer {
  return Buffer.from(new ArrayBuffer(bytes, { maxByteLength: bytes }));
}

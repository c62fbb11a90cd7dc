// Snapshot ids are counters of fixed width, so that their order as text is the order of saving.

const width = 10;
const idPattern = /^\d{10}$/;

export function toSnapshotId(number: number): string {
  return String(number).padStart(width, "0");
}

/** Undefined for a text that no store ever returned as an id. */
export function parseSnapshotId(id: string): number | undefined {
  return idPattern.test(id) ? Number(id) : undefined;
}

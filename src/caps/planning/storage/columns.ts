// The columns of a board: what a task's status may be, and what counts as done.

export interface Column {
  readonly name: string;
  /** 0 is no limit. */
  readonly wip_limit: number;
  readonly is_done: boolean;
}

type GivenColumn = string | Column;

function nameOf(column: GivenColumn): string {
  return typeof column === "string" ? column : column.name;
}

/** A name that stands twice in the list. */
export function findRepeated(columns: readonly GivenColumn[]): string | undefined {
  const names = columns.map(nameOf);
  return names.find((name, index) => names.indexOf(name) !== index);
}

/** Settles which columns are done: those marked, or else `done`, or else the last. */
export function toColumns(given: readonly GivenColumn[]): Column[] {
  const columns = given.map((column) =>
    typeof column === "string" ? { name: column, wip_limit: 0, is_done: false } : column,
  );
  if (columns.some(({ is_done }) => is_done)) return columns;
  const done = columns.find(({ name }) => name.toLowerCase() === "done") ?? columns.at(-1);
  return columns.map((column) => (column === done ? { ...column, is_done: true } : column));
}

export function doneNames(columns: readonly Column[]): string[] {
  return columns.filter(({ is_done }) => is_done).map(({ name }) => name);
}

export function isDone(columns: readonly Column[], status: string): boolean {
  return columns.some(({ name, is_done }) => is_done && name === status);
}

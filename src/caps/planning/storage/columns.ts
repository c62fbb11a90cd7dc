// The columns of a board: the possible states of a task, and those that count as done.

export interface Column {
  readonly name: string;
  /** 0 means no limit. */
  readonly wip_limit: number;
  readonly is_done: boolean;
}

type GivenColumn = string | Column;

function nameOf(column: GivenColumn): string {
  return typeof column === "string" ? column : column.name;
}

/** Returns a name that is in the list twice, or undefined. */
export function findRepeated(columns: readonly GivenColumn[]): string | undefined {
  const names = columns.map(nameOf);
  return names.find((name, index) => names.indexOf(name) !== index);
}

/** Decides which columns are done: the marked ones, or else `done`, or else the last column. */
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

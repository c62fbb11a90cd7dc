import type { Terminal } from "./terminal.ts";

/** Prints rows in columns, below a row of titles. The cells must be plain: see plain-text.ts. */
export function printTable(titles: readonly string[], rows: readonly (readonly string[])[], terminal: Terminal): void {
  const table = [titles, ...rows];
  const widths = titles.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const [index, row] of table.entries()) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    const line = cells.join("  ").trimEnd();
    terminal.print(index === 0 ? terminal.style.dim(line) : line);
  }
}

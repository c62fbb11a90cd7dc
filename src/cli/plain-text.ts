// Text of other machines on the way to a terminal, which obeys control characters.

/** For one cell of a table or one line: control characters, line breaks included, become spaces. */
export function toPlainLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

/** For text of several lines: line breaks and tabs stay. */
export function toPlainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** What fits into a list. */
export function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
}

// The one place that knows the JMESPath library. Only its parser is used: its interpreter lets an expression take any
// amount of time and memory, reads what data inherits, and sorts numbers as texts.
import { compile } from "@jmespath-community/jmespath";

export type Ast = ReturnType<typeof compile>;

/** Throws with the library's words where the text is no JMESPath. */
export function parseSyntax(text: string): Ast {
  return compile(text);
}

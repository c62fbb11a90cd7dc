// The only file that uses the JMESPath library, and only its parser: the library's interpreter has no limit of time and
// memory, reads inherited properties, and sorts numbers as texts.
import { compile } from "@jmespath-community/jmespath";

export type Ast = ReturnType<typeof compile>;

/** Throws the library's error if the text is not valid JMESPath. */
export function parseSyntax(text: string): Ast {
  return compile(text);
}

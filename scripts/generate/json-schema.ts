// JSON Schema for other languages: zod's output without the parts that only apply to JavaScript.
import { z } from "zod";

export interface JsonSchema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  additionalProperties?: boolean | JsonSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  $ref?: string;
  [keyword: string]: unknown;
}

/** `input` describes the fields that a sender may leave out; `output` those that a receiver can rely on. */
export function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...body } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      // Every integer of JavaScript is a safe integer; other languages need no such limit.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // A message may carry unknown fields; only objects that the table closes are closed.
      const isClosed = zodSchema instanceof z.ZodObject && zodSchema.def.catchall instanceof z.ZodNever;
      if (jsonSchema.additionalProperties === false && !isClosed) delete jsonSchema.additionalProperties;
    },
  });
  return body as JsonSchema;
}

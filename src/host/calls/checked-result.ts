/**
 * A result that its handler vouches for: it fits the table, defaults included, and nobody else holds any part of it. The
 * host answers with it as it is. For handlers that would otherwise make everything twice; those that pass on what others
 * gave them, or are in any doubt, return their result plainly and have it checked.
 */
export class CheckedResult<Result extends object> {
  readonly fields: Result;

  constructor(fields: Result) {
    this.fields = fields;
  }

  /** Wherever it is written down or sent to another thread it is its fields, to be checked again. */
  toJSON(): Result {
    return this.fields;
  }
}

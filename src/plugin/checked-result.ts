/**
 * A result that the host sends without checking or copying it. The handler guarantees that the fields fit the table,
 * defaults included, and that no other code has a reference to any part of them. It saves the second copy of large results.
 * Handlers that pass on data of others return a plain object, which is checked.
 */
export class CheckedResult<Result extends object> {
  readonly fields: Result;

  constructor(fields: Result) {
    this.fields = fields;
  }

  /** Serialised, it is a plain result again and is checked by its receiver. */
  toJSON(): Result {
    return this.fields;
  }
}

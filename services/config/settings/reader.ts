import type { Problem } from '../config-error.ts'

/** Reads variables and collects what is wrong with them. */
export interface Reader {
  readonly problems: Problem[]
  report (name: string, message: string): void
  isSet (name: string): boolean
  /** Reads a variable with `parse`, which throws a RangeError with the words for the operator. */
  read<Value> (name: string, otherwise: Value, parse: (text: string) => Value): Value
}

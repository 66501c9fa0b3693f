import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { Permission } from '../../keys/roles.ts'
import type { HostedAdministration } from './admin-host.ts'
import type { Column } from './format/columns.ts'
import type { OwnAccountRule } from './own-account.ts'

/** The validated parts of a request or command. `id` is that of the path, empty without one. */
export interface Given<Query, Body> {
  id: string
  query: Query
  body: Body
  idempotencyKey?: string | undefined
}

/** The result of a repeatable operation; `created` is false if nothing changed. */
export interface MadeResult<Result> { made: Result, created: boolean }

/** One operation of the admin API: its route, its entry in the OpenAPI document and its command. */
export interface OperationOf<Query extends TObject, Body extends TSchema, Result extends TSchema> {
  /** How a user is restricted to their account; absent: users are rejected. */
  ownAccount?: OwnAccountRule
  summary: string
  query?: Query
  body?: Body
  isBodyOptional?: true
  headers?: TObject
  result: Result
  /** The status of a success; a `make` has 201, or 200 if nothing changed. */
  status?: 201
  run? (
    administration: HostedAdministration, given: Given<Static<Query>, Static<Body>>
  ): Promise<Static<Result>>
  /** In place of `run`: repeating it changes nothing. */
  make? (
    administration: HostedAdministration, given: Given<Static<Query>, Static<Body>>
  ): Promise<MadeResult<Static<Result>>>
  /** The same as CSV, without pages. */
  csv?: {
    /** The name of the file, without its ending. */
    name (query: Static<Query>): string
    rows (administration: HostedAdministration, query: Static<Query>): AsyncGenerator<string, void, undefined>
  }
  command?: CommandOf<Static<Query>, Static<Result>>
}

type Method = 'GET' | 'POST' | 'PATCH'

export interface AdminOperation extends OperationOf<TObject, TSchema, TSchema> {
  method: Method
  /** Under `/admin`, e.g. `/keys/:id`. */
  path: string
  permission: Permission
}

/** The command of an operation. */
export interface CommandOf<Query, Result> {
  /** Its words and arguments. The first argument is the id of the path, if it has one; others are fields. */
  name: string
  description: string
  /** Whether the words before the last one run it too. */
  isDefault?: true
  /** What the help says about arguments. */
  args?: Readonly<Record<string, string>>
  /** By field. A field with a description and a plain type needs none. */
  options?: Readonly<Record<string, FieldOption>>
  /** The columns of a list, at a time in milliseconds since 1970. */
  columns? (query: Query, now: number): readonly Column<ItemOf<Result>>[]
  /** The text of any other result. */
  text? (result: Result, context: TextContext): string | Promise<string>
  /** Whether the process exits with 1 although the command has run. */
  isFailure? (result: Result): boolean
}

export interface TextContext { administration: HostedAdministration, id: string, created: boolean }

type ItemOf<Result> = Result extends { data: (infer Item)[] } ? Item : never

/** How text becomes the value of a field; the command line implements each. */
export type FieldKind =
  'amount' | 'budget' | 'dimensions' | 'duration' | 'limits' | 'list' | 'status' | 'tag' | 'time'

/** The option of a field. */
export interface FieldOption {
  /** E.g. `--account <account>`. */
  flag: string
  words: string
  /** Default: one of the schema's values, or the text. */
  as?: FieldKind
  /** The words of the option that removes the setting, in a change. */
  none?: string
  /** The words of `--period`, which belongs to a budget. */
  period?: string
  default?: string
  required?: true
}

/** Declares an operation, e.g. of `GET /keys/:id`; the types of its schemas are those of its functions. */
export function operation<Query extends TObject, Body extends TSchema, Result extends TSchema> (
  route: `${Method} /${string}`, permission: Permission, row: OperationOf<Query, Body, Result>
): AdminOperation {
  const [method, path] = route.split(' ') as [Method, string]
  return { method, path, permission, ...row }
}

/** Declares the option of a field. */
export function option (
  flag: string, words: string, more: Partial<Omit<FieldOption, 'flag' | 'words'>> = {}
): FieldOption {
  return { flag, words, ...more }
}

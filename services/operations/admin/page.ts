import { GatewayError } from '../../shared/errors.ts'

/** One page of a list. `next`, passed as `after`, continues the list; null on the last page. */
export interface Page<Item> { object: 'list', data: Item[], has_more: boolean, next: string | null }

export interface PageRequest {
  /** 1 to `maxPageSize`; default 100. */
  limit?: number | undefined
  /** `next` of the previous page. */
  after?: string | undefined
}

/** The time range of a list, in milliseconds: `from` is included, `to` is not. */
export interface TimeRange { from?: number | undefined, to?: number | undefined }

/** What a list is filtered by: the fields of its query, with paging and times as numbers. */
export type ListRequest<Query extends object> = PageRequest & TimeRange & {
  [Name in Exclude<keyof Query, keyof PageRequest | keyof TimeRange | 'format'>]?: Query[Name] | undefined
}

export const maxPageSize = 1_000
const defaultPageSize = 100
const maxCursorLength = 2_000

/** The values by which a list is ordered, of one row. */
export type Cursor = readonly (string | number)[]

interface PagedList<Row, Item, After extends Cursor> {
  /** Whether a cursor has the right types. */
  example: After
  /** Reads at most `limit` rows after a cursor, which is undefined for the first page. */
  read (after: After | undefined, limit: number): Promise<readonly Row[]>
  toItem (row: Row): Item
  cursorOf (row: Row): Cursor
}

/** Reads one page of a list. Throws GatewayError 400 for a wrong `limit` or `after`. */
export async function readPage<Row, Item, After extends Cursor | []> (
  { limit = defaultPageSize, after }: PageRequest,
  { example, read, toItem, cursorOf }: PagedList<Row, Item, After>
): Promise<Page<Item>> {
  if (!Number.isInteger(limit) || limit < 1 || limit > maxPageSize) {
    throw GatewayError.invalidValue('limit', `must be an integer from 1 to ${maxPageSize}`)
  }
  // One row more than the page reveals whether there are further ones.
  const rows = await read(decodeCursor(after, example), limit + 1)
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  const next = hasMore ? encode(cursorOf(last)) : null
  return { object: 'list', data: shown.map(toItem), has_more: hasMore, next }
}

/** Yields all items of a list, one array per page. */
export async function * allPages<Item> (
  read: (request: PageRequest) => Promise<Page<Item>>
): AsyncGenerator<Item[]> {
  let after: string | undefined
  do {
    const page = await read({ limit: maxPageSize, after })
    yield page.data
    after = page.next ?? undefined
  } while (after !== undefined)
}

function encode (cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

function decodeCursor<After extends Cursor> (text: string | undefined, example: After): After | undefined {
  if (text === undefined) return undefined
  const cursor = text.length > maxCursorLength ? undefined : decode(text)
  if (isLike(cursor, example)) return cursor
  throw GatewayError.invalidValue('after', 'must be the \'next\' of a page of this list')
}

function decode (text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function isLike<After extends Cursor> (cursor: unknown, example: After): cursor is After {
  return Array.isArray(cursor) && cursor.length === example.length && example.every((value, index) =>
    typeof cursor[index] === typeof value && (typeof value === 'string' || Number.isSafeInteger(cursor[index])))
}

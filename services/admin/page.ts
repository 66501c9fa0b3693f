import { GatewayError } from '../shared/errors.ts'

/** Part of a list. `next`, given as `after`, continues it; null at its end. */
export interface Page<Item> { object: 'list', data: Item[], has_more: boolean, next: string | null }

/** Which part of a list is asked for. */
export interface PageRequest {
  /** 1 to `maxPageSize`; 100 unless told. */
  limit?: number | undefined
  /** `next` of the page before. */
  after?: string | undefined
}

/** How many items one page has at most. */
export const maxPageSize = 1_000
const defaultPageSize = 100
const maxCursorLength = 2_000

/** Returns how many items a page shall have. Throws GatewayError 400. */
export function pageSize ({ limit = defaultPageSize }: PageRequest): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxPageSize) return limit
  throw GatewayError.invalidRequest(`A page has 1 to ${maxPageSize} items.`, { param: 'limit', code: 'invalid_value' })
}

/**
 * Makes a page of rows that were asked for with one more than `size`, which tells whether there are further
 * ones. `place` names a row by the values the list is ordered by.
 */
export function toPage<Row, Item> (
  rows: readonly Row[], size: number,
  { toItem, place }: { toItem: (row: Row) => Item, place: (row: Row) => Place }
): Page<Item> {
  const shown = rows.slice(0, size)
  const last = shown.at(-1)
  const more = rows.length > size && last !== undefined
  return { object: 'list', data: shown.map(toItem), has_more: more, next: more ? encode(place(last)) : null }
}

/** The values that a list is ordered by, of one of its rows. */
export type Place = readonly (string | number)[]

/**
 * Returns the place that `after` names, undefined for the beginning of the list. Throws GatewayError 400 when
 * it is not like `example`, which is of the same types.
 */
export function placeAfter<const Example extends Place> (
  { after }: PageRequest, example: Example
): Like<Example> | undefined {
  if (after === undefined) return undefined
  const place = decode(after)
  if (isLike(place, example)) return place
  throw GatewayError.invalidRequest('\'after\' is not the \'next\' of a page of this list.',
    { param: 'after', code: 'invalid_value' })
}

/** Yields the items of a list, page by page, to its end. */
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

function encode (place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function decode (cursor: string): unknown {
  if (cursor.length > maxCursorLength) return undefined
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

type Like<Example extends Place> = {
  [Index in keyof Example]: Example[Index] extends string ? string : number
}

function isLike<Example extends Place> (place: unknown, example: Example): place is Like<Example> {
  return Array.isArray(place) && place.length === example.length && example.every((value, index) =>
    typeof place[index] === typeof value && (typeof value === 'string' || Number.isSafeInteger(place[index])))
}

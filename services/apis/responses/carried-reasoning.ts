import type { ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { isSealedHere } from './sealed-thoughts.ts'

// What a provider has encrypted can be read by that provider alone, and others refuse a request that has it.
// So clients get it with the name of its provider before it.

const mark = 'tollgate:'

/** An item of an answer, with the provider's name in what it has encrypted; the same if nothing is. */
export function withOrigin<Item> (item: Item, provider: string): Item {
  if (!isObject(item) || !isText(item.encrypted_content) || item.encrypted_content === '') return item
  return { ...item, encrypted_content: `${mark}${provider}:${item.encrypted_content}` }
}

/**
 * Items as one provider can read them: without the reasoning of others, which it could not decrypt, and
 * without reasoning that is not encrypted, which it would look for among its stored items. The same array if
 * nothing changes.
 */
export function readableBy (
  items: readonly ResponseInputItem[], provider: string
): readonly ResponseInputItem[] {
  const own = `${mark}${provider}:`
  const readable = items.flatMap((item): ResponseInputItem[] => {
    const sealed: unknown = Reflect.get(item, 'encrypted_content')
    if (isText(sealed) && sealed.startsWith(own)) {
      const opened = { encrypted_content: sealed.slice(own.length) }
      return [{ ...item, ...opened }]
    }
    if (item.type !== 'reasoning') return [item]
    return isText(sealed) && sealed !== '' && !isSealedHere(sealed) && !sealed.startsWith(mark) ? [item] : []
  })
  const isSame = readable.length === items.length && readable.every((item, at) => item === items[at])
  return isSame ? items : readable
}

/** The output items of a provider's answer as clients get them. */
export function outputFrom (output: unknown, provider: string): JsonObject[] {
  return Array.isArray(output) ? output.filter(isObject).map(item => withOrigin(item, provider)) : []
}

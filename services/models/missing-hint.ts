import { isServed, kindVerbs, type ModelKind } from '../config/catalogue/kinds.ts'
import { nearest } from '../config/validate/suggest.ts'

/** Most names that are compared with one that does not exist. */
const maxCompared = 2_000

/**
 * Explains a name that is not on offer, in a sentence: what the model does if it cannot be served, else which
 * of `names` is nearest. Empty if there is nothing to say.
 */
export function hintFor (id: string, unserved: ModelKind | 'other' | undefined, names: () => string[]): string {
  if (unserved !== undefined) return unservedHint(unserved)
  const near = nearest(id, names().slice(0, maxCompared))
  return near === null || near === id ? '' : `Did you mean \`${near}\`?`
}

function unservedHint (kind: ModelKind | 'other'): string {
  if (kind === 'other') return 'No endpoint of this gateway serves it.'
  const why = isServed(kind) ? 'its provider has no API for that here' : 'no endpoint of this gateway serves that'
  return `It ${kindVerbs[kind]}; ${why}.`
}

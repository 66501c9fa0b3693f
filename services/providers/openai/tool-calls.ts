import { randomBytes } from 'node:crypto'
import { isObject, isText, withMembers, type JsonObject } from '../../shared/json.ts'

/** The calls of a whole message in OpenAI's form; the same array when nothing has to change. */
export function repairToolCalls (calls: readonly unknown[]): readonly unknown[] {
  const ids = new Set<unknown>()
  const repaired = calls.filter(isObject).slice(0, maxCalls).map(call => {
    const id = isText(call.id) && !ids.has(call.id) ? call.id : newCallId()
    ids.add(id)
    const isCustom = isObject(call.custom) && !(call.type === 'function' && isObject(call.function))
    const called = isCustom ? { custom: call.custom } : { function: call.function }
    return withMembers(call, { id, type: isCustom ? 'custom' : 'function', ...calledIn(called, '{}') })
  })
  return isSame(repaired, calls) ? calls : repaired
}

/** As many tools as a request may have; no model calls more at once. */
const maxCalls = 1_000
/** Arguments are compared up to this length, in UTF-16 units; longer ones only pass. */
const maxComparedText = 256 * 1024

/** One call of a choice, as it was streamed so far. */
interface OpenCall {
  /** The index that the client sees. */
  index: number
  /** The id and index of the provider, if it sends any. */
  theirId: string | null
  theirIndex: number | null
  type: string
  name: string
  /** What came before the name; null once the call was announced to the client. */
  early: JsonObject | null
  /** The arguments that the client has, as far as pieces were read: those that only go on are not. */
  text: string
}

/**
 * The tool calls of one streamed choice. The client gets each call with an index of its own, and its id, type
 * and name once: clients put pieces together by index, and some of them append repeated ids and names.
 */
export class ToolCallStream {
  readonly #calls: OpenCall[] = []

  get count (): number {
    return this.#calls.length
  }

  /** The pieces of one delta as the client may see them; the same array when nothing has to change. */
  take (pieces: readonly unknown[]): readonly unknown[] {
    const repaired = pieces.filter(isObject).map(piece => this.#piece(piece)).filter(piece => piece !== null)
    return isSame(repaired, pieces) ? pieces : repaired
  }

  /** The pieces that complete calls without a name, and those of functions without arguments. */
  rest (): JsonObject[] {
    return this.#calls.flatMap(call => {
      const unnamed = call.early === null ? [] : [this.#announce(call, call.early)]
      const isEmpty = call.type === 'function' && call.text === ''
      return isEmpty ? [...unnamed, { index: call.index, function: { arguments: '{}' } }] : unnamed
    })
  }

  #piece (piece: JsonObject): JsonObject | null {
    const known = this.#find(piece)
    if (known === undefined && this.#calls.length >= maxCalls) return null
    const call = known ?? this.#open(piece)
    const isNamed = nameIn(piece) !== ''
    call.name ||= nameIn(piece)
    if (call.early === null) {
      if (isNamed && isRepeated(piece, call)) return null
      if (call.text.length < maxComparedText) call.text += textIn(piece)
      return this.#continue(call, piece)
    }
    call.early = joined(call.early, piece)
    return call.name === '' ? null : this.#announce(call, call.early)
  }

  /** The call that a piece belongs to; undefined: it begins one. */
  #find (piece: JsonObject): OpenCall | undefined {
    const id = isText(piece.id) ? piece.id : null
    const index = indexOf(piece)
    const byId = id === null ? undefined : this.#calls.findLast(({ theirId }) => theirId === id)
    const call = index === null
      ? id === null ? this.#calls.at(-1) : byId
      : this.#calls.findLast(({ theirIndex }) => theirIndex === index) ?? (nameIn(piece) === '' ? byId : undefined)
    return call === undefined || beginsAnother(piece, id, call) ? undefined : call
  }

  #open (piece: JsonObject): OpenCall {
    const call = {
      index: this.#calls.length,
      theirId: isText(piece.id) ? piece.id : null,
      theirIndex: indexOf(piece),
      type: typeOf(piece),
      name: '',
      early: {},
      text: ''
    }
    this.#calls.push(call)
    return call
  }

  #announce (call: OpenCall, piece: JsonObject): JsonObject {
    const { index, theirId, type, name } = call
    call.early = null
    const isTaken = this.#calls.some(other => other !== call && other.theirId === theirId)
    const called = calledIn({ ...piece, type }, '')
    const key = type === 'custom' ? 'custom' : 'function'
    const body = isObject(called[key]) ? called[key] : { arguments: '' }
    // Some servers begin with an empty object, before the arguments. If none follow, it comes last.
    const isBegun = body.arguments !== '{}'
    if (isBegun) call.text += textIn({ function: body })
    return withMembers(piece, {
      index,
      id: theirId === null || isTaken ? newCallId() : theirId,
      type,
      [key]: withMembers(body, { name, ...(isBegun ? {} : { arguments: '' }) })
    })
  }

  #continue ({ index }: OpenCall, piece: JsonObject): JsonObject {
    const changes: JsonObject = { index, ...without(piece, ['id', 'type']) }
    if (!isObject(piece.function) && !isObject(piece.custom)) changes.function = { arguments: '' }
    for (const key of ['function', 'custom']) {
      const called = piece[key]
      if (!isObject(called)) continue
      changes[key] = withMembers(called, { ...argumentsIn(called), ...without(called, ['name']) })
    }
    return withMembers(piece, changes)
  }
}

/** Whether a piece for the place of a call is another call: some servers give all of them one index or id. */
function beginsAnother (piece: JsonObject, id: string | null, { theirId, name, text }: OpenCall): boolean {
  const next = nameIn(piece)
  if (next === '' || name === '') return false
  const added = textIn(piece)
  if (id !== null && id === theirId) return added !== text && isWhole(added) && isWhole(text)
  return (id !== null && theirId !== null) || next !== name || isWhole(added)
}

/** Whether a piece repeats a call that the client has in full: some servers end with all their calls. */
function isRepeated (piece: JsonObject, { theirId, text }: OpenCall): boolean {
  return theirId !== null && piece.id === theirId && text === textIn(piece) && isWhole(text)
}

/** Whether a text has all the arguments of a call. */
function isWhole (text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

/** The arguments in a piece. */
function textIn ({ function: called }: JsonObject): string {
  return isObject(called) ? argumentsIn(called).arguments ?? '' : ''
}

/** Two pieces of one call before its name: the members of both, and their arguments in turn. */
function joined (early: JsonObject, piece: JsonObject): JsonObject {
  const [before, after] = [early.function, piece.function].map(called => isObject(called) ? called : {})
  const texts = [before, after].map(called => argumentsIn(called ?? {}).arguments ?? '')
  const isFunction = isObject(early.function) || isObject(piece.function)
  const members = isFunction ? { function: { ...before, ...after, arguments: texts.join('') } } : {}
  return { ...early, ...piece, ...members }
}

function nameIn ({ function: called, custom }: JsonObject): string {
  const name = isObject(called) ? called.name : isObject(custom) ? custom.name : ''
  return isText(name) ? name : ''
}

function indexOf ({ index }: JsonObject): number | null {
  return Number.isInteger(index) ? Number(index) : null
}

function typeOf ({ type, custom }: JsonObject): string {
  return type === 'custom' || (!isText(type) && isObject(custom)) ? 'custom' : 'function'
}

/** The member with name and arguments, repaired; `missing`: the arguments of a call that has none. */
function calledIn ({ function: called, custom }: JsonObject, missing: string): JsonObject {
  const given = isObject(custom) ? custom : isObject(called) ? called : {}
  const name = typeof given.name === 'string' ? given.name : ''
  if (isObject(custom)) {
    return { custom: withMembers(custom, { name, input: typeof custom.input === 'string' ? custom.input : '' }) }
  }
  return { function: withMembers(given, { name, arguments: argumentsIn(given).arguments || missing }) }
}

/** The arguments as text, if they are there. */
function argumentsIn (called: JsonObject): { arguments?: string } {
  const value = called.arguments
  if (typeof value === 'string') return { arguments: value }
  if (value === undefined) return {}
  return { arguments: value === null ? '' : JSON.stringify(value) }
}

/** The changes that remove members, for `withMembers`. */
function without (body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.filter(name => name in body).map(name => [name, undefined]))
}

function isSame (repaired: readonly unknown[], given: readonly unknown[]): boolean {
  return repaired.length === given.length && repaired.every((one, at) => one === given[at])
}

function newCallId (): string {
  return `call_${randomBytes(12).toString('hex')}`
}

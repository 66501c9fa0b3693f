import { Busboy } from '@fastify/busboy'
import { GatewayError } from '../shared/errors.ts'

/** A field of a form, or the bytes of a file. */
export interface FormPart { name: string, value: string | Buffer }

/** A form of a few fields; its bytes are bounded by the body. */
const limits = { parts: 64, fieldNameSize: 200, fieldSize: Infinity, headerPairs: 16, headerSize: 4096 }

/**
 * Reads a complete `multipart/form-data` body (RFC 7578) and returns its parts in order. Throws GatewayError
 * 400 if it is malformed, cut off or has too many parts.
 */
export async function readForm (body: Buffer, contentType: string): Promise<FormPart[]> {
  const { promise, resolve, reject } = Promise.withResolvers<FormPart[]>()
  const parts: FormPart[] = []
  const fail = (cause?: unknown): void => {
    reject(GatewayError.invalidRequest('We could not read the form of your request: it is not valid ' +
      `\`multipart/form-data\` with at most ${limits.parts} parts.`, { cause }))
  }
  try {
    const form = new Busboy({ headers: { 'content-type': contentType }, limits })
    form.on('field', (name, value, isNameCut, isValueCut) => {
      if (isNameCut || isValueCut || name === undefined) return fail()
      parts.push({ name, value })
    })
    form.on('file', (name, file) => {
      const pieces: Buffer[] = []
      const part: FormPart = { name, value: Buffer.alloc(0) }
      parts.push(part)
      file.on('data', (piece: Buffer) => pieces.push(piece)).on('error', fail)
      file.on('end', () => { part.value = Buffer.concat(pieces) })
    })
    form.on('partsLimit', fail).on('error', fail)
    form.on('finish', () => resolve(parts))
    form.end(body)
  } catch (error) {
    fail(error)
  }
  return await promise
}

/**
 * The object that a form describes: `a[b]` is the member `b` of `a`. Throws GatewayError 400 for a repeated
 * name.
 */
export function objectOfForm (parts: readonly { name: string, value: unknown }[]): Record<string, unknown> {
  const fields = new Map<string, unknown>()
  for (const { name, value } of parts) {
    const [, outer = name, inner = null] = /^([^[\]]+)\[([^[\]]+)\]$/.exec(name) ?? []
    const before = fields.get(outer)
    const members = before instanceof Map ? before : new Map<string, unknown>()
    const isRepeated = inner === null || before !== members ? fields.has(outer) : members.has(inner)
    if (isRepeated) throw GatewayError.invalidValue(name, 'the form has it more than once')
    fields.set(outer, inner === null ? value : members.set(inner, value))
  }
  const toPlain = (value: unknown): unknown => value instanceof Map ? Object.fromEntries(value) : value
  const plain = [...fields].map(([name, value]) => [name, toPlain(value)])
  return Object.fromEntries(plain)
}

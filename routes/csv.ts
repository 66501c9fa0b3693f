import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { Type } from '@fastify/type-provider-typebox'

/** The schema of a CSV response. */
export const Csv = Type.Unsafe<Readable>({ type: 'string' })

/** Whether the client prefers CSV: by `format`, else by the first type in `Accept`. */
export function wantsCsv (format: 'json' | 'csv' | undefined, accept = ''): boolean {
  if (format !== undefined) return format === 'csv'
  return /^\s*text\/csv\b/i.test(accept)
}

/** Prepares a reply with a CSV file of that name, and returns its body. */
export async function toCsvBody (
  reply: FastifyReply, name: string, pieces: AsyncGenerator<string, void, undefined>
): Promise<Readable> {
  const body = await begun(pieces)
  reply.type('text/csv; charset=utf-8').header('content-disposition', `attachment; filename="${name}.csv"`)
  return Readable.from(body)
}

/** Waits for the first chunk, so that an early failure is an error response and not a truncated body. */
async function begun (pieces: AsyncGenerator<string, void, undefined>): Promise<AsyncGenerator<string>> {
  const first = await pieces.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * pieces
  })()
}

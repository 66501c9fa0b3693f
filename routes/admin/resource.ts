import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import type { Given, AdminOperation } from '../../services/operations/admin/operation.ts'
import type { JsonObject } from '../../services/shared/json.ts'
import { refusePaging } from '../../services/operations/admin/query.ts'
import { Csv, toCsvBody, wantsCsv } from '../csv.ts'

interface AdminRequest {
  Params: { id?: string }
  Querystring: { limit?: string, after?: string, format?: 'json' | 'csv' }
  Headers: { 'idempotency-key'?: string }
}

/** Registers the operations of one resource. */
export default async function resource (
  app: FastifyInstance, { operations }: { operations: readonly AdminOperation[] }
): Promise<void> {
  for (const operation of operations) {
    const { method, path, permission, ownAccount, isBodyOptional = false } = operation
    app.route<AdminRequest>({
      method,
      url: path,
      config: { permission, ...ownAccount && { ownAccount }, ...operation.csv && { passThrough: true } },
      schema: schemaOf(operation),
      ...isBodyOptional && { preValidation: async request => { request.body ??= {} } },
      handler: async (request, reply) => await respond(operation, request, reply)
    })
  }
}

function schemaOf (
  { path, summary, query, headers, body, result, status, make, csv }: AdminOperation
): object {
  const content = { 'application/json': { schema: result }, 'text/csv': { schema: Csv } }
  const either = { description: 'One page as JSON, or all rows as CSV', content }
  return {
    summary,
    ...path.includes(':id') && { params: ById },
    ...query && { querystring: query },
    ...headers && { headers },
    ...body && { body },
    response: {
      [status ?? 200]: csv === undefined ? result : either, ...make && { 201: result }, ...errorResponses
    }
  }
}

async function respond (
  { run, make, csv, status }: AdminOperation, request: FastifyRequest<AdminRequest>, reply: FastifyReply
): Promise<unknown> {
  const { administration, query, headers, body } = request
  const given: Given<JsonObject, unknown> = {
    id: request.params.id ?? '', query: { ...query }, body, idempotencyKey: headers['idempotency-key']
  }
  if (csv !== undefined && wantsCsv(query.format, headers.accept)) {
    refusePaging(query)
    return await toCsvBody(reply, csv.name(given.query), csv.rows(administration, given.query))
  }
  if (make !== undefined) {
    const { made, created } = await make(administration, given)
    return reply.code(created ? 201 : 200).send(made)
  }
  reply.code(status ?? 200)
  return await run?.(administration, given)
}

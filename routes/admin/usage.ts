import { Readable } from 'node:stream'
import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { UsageList, UsageQuery } from '../../schemas/admin/usage.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { listUsage, toDimensions, usageCsv } from '../../services/admin/usage.ts'
import { refusePaging, toPageRequest, toPeriod, wantsCsv } from './query.ts'

const formats = {
  'application/json': { schema: UsageList },
  'text/csv': { schema: Type.Unsafe<Readable>({ type: 'string' }) }
}

/** `GET /admin/usage`: what was used, summed up; JSON, or CSV when `format` or `Accept` say so. */
const usage: FastifyPluginAsyncTypebox = async app => {
  app.get('/usage', {
    config: { passThrough: true },
    schema: {
      summary: 'Sum up what was used by key, model and day',
      querystring: UsageQuery,
      response: { 200: { description: 'One page as JSON, all as CSV', content: formats }, ...errorResponses }
    }
  }, async ({ query, headers }, reply) => {
    const { account, key, model } = query
    const filter = { by: toDimensions(query.by), ...toPeriod(query), account, key, model }
    if (!wantsCsv(query.format, headers.accept)) {
      return await listUsage(app.administration, { ...filter, ...toPageRequest(query) })
    }
    refusePaging(query)
    const csv = await begun(usageCsv(app.administration, filter))
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="usage.csv"')
      .send(Readable.from(csv))
  })
}

export default usage

/** Waits for the first piece, so that what fails at once is an error and not the end of an answer. */
async function begun (pieces: AsyncGenerator<string>): Promise<AsyncGenerator<string>> {
  const first = await pieces.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * pieces
  })()
}

import { setTimeout as sleep } from 'node:timers/promises'
import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LiveFigures } from '../../schemas/admin/live.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { createLiveFigures } from '../../services/operations/admin/live.ts'
import { listLamps } from '../../services/operations/admin/providers.ts'
import { GatewayError } from '../../services/shared/errors.ts'

interface LiveOptions {
  everyMs?: number
  /** Interval at which the permission to read is checked again. */
  checkEveryMs?: number
  maxClients?: number
}

const events = { description: 'Server-sent events; the data of each is in `x-event`.', 'x-event': LiveFigures }
const response = { description: 'A stream that ends with the session', content: { 'text/event-stream': { schema: Type.String(events) } } }

/** `GET /admin/live`: current figures, as server-sent events every two seconds. */
const live: FastifyPluginAsyncTypebox<LiveOptions> = async (
  app, { everyMs = 2_000, checkEveryMs = 10_000, maxClients = 50 }
) => {
  const figures = createLiveFigures({
    store: app.store,
    node: () => app.nodeCounts(),
    lamps: () => listLamps({ config: app.models.config(), deployments: app.deployments })
  })
  let clients = 0

  app.get('/live', {
    config: { permission: 'read', passThrough: true },
    schema: { summary: 'Watch the current traffic', response: { 200: response, ...errorResponses } }
  }, async (request, reply) => {
    if (clients >= maxClients) throw crowded(maxClients)
    clients++
    // The client may already have disconnected, in which case no close event follows.
    try {
      // Read once before the headers, so that an early failure has a status.
      const first = await figures()
      reply.hijack()
      reply.raw.writeHead(200, {
        ...reply.getHeaders() as Record<string, string>,
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no'
      })
      await sendFigures(request, reply, first)
    } finally {
      clients--
    }
  })

  async function sendFigures (
    request: FastifyRequest, reply: FastifyReply, first: LiveFigures
  ): Promise<void> {
    const { raw } = reply
    let checkedAt = performance.now()
    raw.write(`retry: ${everyMs}\n\n${toEvent(first)}`)
    while (!raw.destroyed && !app.isDraining()) {
      await sleep(everyMs, undefined, { ref: false })
      if (performance.now() - checkedAt >= checkEveryMs) {
        checkedAt = performance.now()
        if (!await mayStillRead(request, reply)) break
      }
      // A client that does not read misses figures, which would be outdated.
      if (raw.writableNeedDrain) continue
      raw.write(await figures().then(toEvent, () => ': the database does not respond\n\n'))
    }
    raw.end()
  }

  async function mayStillRead (request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { authenticateAdmin } = app
    return await new Promise(resolve => {
      authenticateAdmin.bind(app)(request, reply, error => resolve(error === undefined))
    })
  }
}

export default live

function crowded (clients: number): GatewayError {
  return GatewayError.unavailable(`${clients} clients watch this node.`, { retryAfterS: 10 })
}

function toEvent (figures: LiveFigures): string {
  return `data: ${JSON.stringify(figures)}\n\n`
}

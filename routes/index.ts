import type { FastifyInstance } from 'fastify'
import admin from './admin/index.ts'
import consoleRoutes from './console/index.ts'
import docs from './docs.ts'
import front from './front.ts'
import health from './health.ts'
import media from './media.ts'
import metrics from './metrics.ts'
import unserved from './unserved.ts'
import v1 from './v1/index.ts'

/** Every route of the gateway. */
export default async function routes (
  app: FastifyInstance, { publicBaseUrl }: { publicBaseUrl: string | null }
): Promise<void> {
  await app.register(front)
  await app.register(health)
  await app.register(metrics)
  await app.register(v1, { prefix: '/v1' })
  await app.register(media, { prefix: '/v1' })
  await app.register(admin, { prefix: '/admin' })
  // Its pages are built for this path.
  if (app.prefix === '') await app.register(consoleRoutes, { prefix: '/console', publicBaseUrl })
  await app.register(docs)
  await app.register(unserved)
}

import type { FastifyInstance } from 'fastify'
import session from './session.ts'

/** Everything under `/console`. */
export default async function consoleRoutes (app: FastifyInstance): Promise<void> {
  await app.register(session)
}

import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { createDatabase } from '../../helpers/engines.ts'
import { buildGateway } from '../../helpers/gateway.ts'

export const adminKey = 'operator-key-of-this-test'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A gateway on a database of its own, and requests to its admin API. */
export interface AdminGateway {
  app: FastifyInstance
  /** The key of a user. */
  key: string
  /** Sends a request with the admin key; the body of its answer is parsed when it is JSON. */
  ask (method: Method, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what the answer is like, the test says
export interface Answer { status: number, headers: Record<string, unknown>, text: string, body: any }

/** Starts the gateway with `TOLLGATE_ADMIN_KEY`; closed when the test ends. */
export async function buildAdmin (
  t: Test, engine: 'sqlite' | 'postgres' = 'sqlite'
): Promise<AdminGateway> {
  const { url } = await createDatabase(t, engine)
  const { app, key } = await buildGateway(t, { env: { DATABASE_URL: url, TOLLGATE_ADMIN_KEY: adminKey } })
  return { app, key, ask: asker(app) }
}

/** Returns the `ask` of a gateway. */
export function asker (app: FastifyInstance): AdminGateway['ask'] {
  return async (method, path, payload, headers = {}) => {
    const answer = await app.inject({
      method, url: `/admin${path}`, payload, headers: { authorization: `Bearer ${adminKey}`, ...headers }
    })
    const text = answer.body
    const isJson = String(answer.headers['content-type']).startsWith('application/json')
    return { status: answer.statusCode, headers: answer.headers, text, body: isJson ? answer.json() : text }
  }
}

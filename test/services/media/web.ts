import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import type { IncomingMessage, RequestListener, Server as HttpServer, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { Server as HttpsServer } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import { join } from 'node:path'
import type { Network } from '../../../services/media/public-connector.ts'
import { isPublicAddress } from '../../../services/media/public-address.ts'

interface Teardown { teardown (work: () => unknown): void }

/** A server whose responses `answer` writes. */
export interface Site {
  port: number
  requests: IncomingMessage[]
  /** The number of connections since the start. */
  connections (): number
}

const folder = join(import.meta.dirname, '../../fixtures/tls')
const cert = readFileSync(join(folder, 'certificate.pem'), 'utf8')
const key = readFileSync(join(folder, 'key.pem'))

type Answers = (request: IncomingMessage, response: ServerResponse) => void

/** An HTTPS server on 127.0.0.1 with a certificate for `cdn`, `other` and `rebind.example`. */
export async function startSite (t: Teardown, answer: Answers): Promise<Site> {
  return await listen(t, answer, listener => createServer({ cert, key }, listener))
}

/** A plain HTTP server, as in a private network. */
export async function startPlainSite (t: Teardown, answer: Answers): Promise<Site> {
  return await listen(t, answer, listener => createPlainServer(listener))
}

/** A network in which 127.0.0.1 counts as public. */
export function internetOf (names: Record<string, string[]>): Network & { lookedUp: string[] } {
  const lookedUp: string[] = []
  const lookup: LookupFunction = (hostname, _options, callback) => {
    lookedUp.push(hostname)
    const addresses = names[hostname]
    if (addresses === undefined) return callback(Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' }), [])
    callback(null, addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })))
  }
  return { lookup, isPublic: address => address === '127.0.0.1' || isPublicAddress(address), ca: cert, lookedUp }
}

async function listen (
  t: Teardown, answer: Answers, create: (listener: RequestListener) => HttpServer | HttpsServer
): Promise<Site> {
  const requests: IncomingMessage[] = []
  let connections = 0
  const server = create((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  server.on('connection', () => { connections += 1 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, requests, connections: () => connections }
}

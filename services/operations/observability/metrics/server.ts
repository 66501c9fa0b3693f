import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Log } from '../../../shared/log.ts'
import { metricsType } from './metrics.ts'

/** Creates a server whose `/metrics` serves `text` without a key, at a port that only operators reach. */
export function createMetricsServer (text: () => Promise<string>, log: Log) {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?', 1)[0] !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    text().then(text => {
      response.writeHead(200, { 'content-type': metricsType }).end(text)
    }, err => {
      log.error({ err }, 'the metrics could not be shown')
      response.writeHead(500).end()
    })
  })
  return {
    /** Returns the port. */
    async listen ({ host, port }: { host: string, port: number }): Promise<number> {
      server.listen({ host, port })
      await once(server, 'listening')
      const { port: bound } = server.address() as AddressInfo
      log.info({ host, port: bound }, 'metrics are served')
      return bound
    },
    close (): void {
      server.close()
      server.closeAllConnections()
    }
  }
}

import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'

interface Value {
  stringValue?: string
  intValue?: number | string
  doubleValue?: number
  boolValue?: boolean
  arrayValue?: { values: Value[] }
}
interface Attributed { attributes: { key: string, value: Value }[] }
export interface CollectedSpan extends Attributed {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  status: { code: number, message?: string }
  events: (Attributed & { name: string, timeUnixNano: string })[]
}
interface Scope { scope: { name: string, version?: string }, schemaUrl?: string, spans: CollectedSpan[] }
interface Export { resourceSpans: { resource: Attributed, scopeSpans: Scope[] }[] }

/** A receiver of OTLP over HTTP in JSON, and what it was sent. */
export async function startCollector (t: Test) {
  const spans: CollectedSpan[] = []
  const paths: (string | undefined)[] = []
  const headers: IncomingHttpHeaders[] = []
  const resources: Record<string, unknown>[] = []
  const scopes: Omit<Scope, 'spans'>[] = []
  const server = createServer((request, response) => {
    paths.push(request.url)
    headers.push(request.headers)
    json(request).then(body => {
      for (const { resource, scopeSpans } of (body as Export).resourceSpans) {
        resources.push(attributesOf(resource))
        for (const { spans: own, ...scope } of scopeSpans) {
          spans.push(...own)
          scopes.push(scope)
        }
      }
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { spans, paths, headers, resources, scopes, url: `http://127.0.0.1:${port}` }
}

/** The attributes of a span, event or resource as plain values. */
export function attributesOf ({ attributes }: Attributed): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]))
}

function plain ({ stringValue, doubleValue, boolValue, arrayValue, intValue }: Value): unknown {
  return stringValue ?? doubleValue ?? boolValue ?? arrayValue?.values.map(plain) ?? Number(intValue)
}

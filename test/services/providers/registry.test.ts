import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { newProvider } from '../../../services/config/new-provider.ts'
import { createProvider, createProviders } from '../../../services/providers/registry.ts'
import { Deadlines } from '../../../services/shared/timers.ts'
import { thrown } from '../../helpers/thrown.ts'
import { keepOpen } from '../../helpers/keep-open.ts'

const signal = new AbortController().signal

/** A server that lists one model when `answer` is called with the response. */
async function startServer (t: Test, answer: (response: ServerResponse) => void) {
  const server = createServer(keepOpen, (_, response) => answer(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

const list = (response: ServerResponse): void => {
  response.setHeader('content-type', 'application/json').end('{"data":[{"id":"m"}]}')
}

t.test('each protocol creates the parts it has', async t => {
  const baseUrl = 'http://127.0.0.1:1/v1'
  const parts = {
    openai: ['chat', 'images', 'videos'],
    anthropic: ['chat'],
    gemini: ['chat', 'images', 'videos'],
    sandbox: ['chat', 'images', 'videos'],
    bfl: ['images'],
    fal: ['images', 'videos'],
    replicate: ['images', 'videos'],
    runway: ['videos']
  } as const
  for (const [protocol, expected] of Object.entries(parts)) {
    const config = { ...newProvider({ id: 'it', baseUrl }), protocol: protocol as keyof typeof parts }
    const provider = createProvider(config, new Deadlines())
    const created = (['chat', 'images', 'videos'] as const).filter(part => provider[part] !== undefined)
    t.same(created, expected, protocol)
    await provider.close()
  }
})

t.test('an unknown dialect is refused', t => {
  const config = newProvider({ id: 'it', baseUrl: 'http://127.0.0.1:1', dialect: 'klingon' })
  t.match(thrown(() => createProvider(config, new Deadlines())), { name: 'RangeError', message: /klingon/ })
  t.end()
})

t.test('an unchanged provider is kept, a changed one is replaced and finishes its calls', async t => {
  const arrived = Promise.withResolvers<ServerResponse>()
  const errors: unknown[] = []
  const providers = createProviders(new Deadlines(5), error => errors.push(error))
  const baseUrl = await startServer(t, arrived.resolve)
  const config = newProvider({ id: 'a', baseUrl })
  providers.apply([config, newProvider({ id: 'b', baseUrl })])
  const [a, b] = [providers.get('a'), providers.get('b')]
  t.equal(providers.originOf('a'), new URL(baseUrl).origin)
  const listing = a?.models?.(signal)
  const response = await arrived.promise
  providers.apply([{ ...config, apiKey: 'sk-new' }, newProvider({ id: 'b', baseUrl })])
  t.equal(providers.get('b'), b)
  t.not(providers.get('a'), a)
  const closing = providers.close()
  list(response)
  t.same(await listing, ['m'])
  await closing
  t.equal(providers.get('a'), undefined)
  t.equal(providers.originOf('b'), undefined)
  t.same(errors, [])
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { chunks } from './answers.ts'
import { startServer, type Child, type Program } from './child.ts'
import { chatRequest } from './light-load.ts'
import type { Measurement, ServerPair } from './measure.ts'
import { requests } from './requests.ts'
import { mean, spreadOf, standardErrorOf } from './statistics.ts'

const streams = 1_000
const openAtOnce = 100
const chunkEveryMs = 1_000
/** Long enough for each stream to relay some chunks, and for the ledger and the log to write. */
const settleMs = 5_000
/** Beside the bare relay, in MiB. */
const targetMiB = 60

/**
 * Measures the memory (RSS, in MiB) of each server with 1,000 streams open, after a garbage collection. Each
 * round starts both servers again. `programsFor` takes the URL of the provider. Throws an Error if a stream
 * ends.
 */
export async function measureOpenStreams (
  programsFor: (upstreamUrl: string) => Promise<ServerPair<Program>>, rounds: number
): Promise<Measurement> {
  await using provider = await startEndlessProvider()
  const pairs: ServerPair<number>[] = []
  while (pairs.length < rounds) {
    const { bare, subject } = await programsFor(provider.url)
    pairs.push({ bare: await memoryMiB(bare), subject: await memoryMiB(subject) })
  }
  const extras = pairs.map(({ bare, subject }) => subject - bare)
  return {
    title: `memory (RSS), ${streams} open streams`,
    unit: 'MiB',
    bare: spreadOf(pairs.map(({ bare }) => bare)),
    subject: spreadOf(pairs.map(({ subject }) => subject)),
    ratio: null,
    targetRatio: null,
    extra: { value: mean(extras), error: standardErrorOf(extras, mean) },
    targetExtra: targetMiB
  }
}

async function memoryMiB (program: Program): Promise<number> {
  await using server = await startServer(program, ['--expose-gc'])
  const clients: Client[] = []
  while (clients.length < streams) {
    clients.push(...await Promise.all(Array.from({ length: openAtOnce }, () => open(server))))
  }
  await sleep(settleMs)
  const { rssBytes } = await server.usage()
  const ended = clients.find(({ socket }) => socket.destroyed || socket.readableEnded)
  for (const { socket } of clients) socket.destroy()
  if (ended !== undefined) throw new Error(`${program.file} has ended a stream: ${ended.tail}`)
  return rssBytes / 2 ** 20
}

interface Client { socket: Socket, tail: string }

/** Resolves when the first event has come. Throws an Error on any other answer. */
async function open ({ url, key }: Child): Promise<Client> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  const client: Client = { socket, tail: '' }
  const begun = Promise.withResolvers<void>()
  socket.setEncoding('latin1').on('error', begun.reject).on('data', (text: string) => {
    client.tail = (client.tail + text).slice(-500)
    if (client.tail.includes('data: ')) begun.resolve()
  }).on('end', () => begun.reject(new Error(client.tail)))
  socket.write(chatRequest({ url, key }, JSON.parse(String(requests.stream.body))))
  await begun.promise
  return client
}

/** Starts a provider whose streams go on until they are closed. */
async function startEndlessProvider () {
  const server = createServer((exchange, response) => {
    exchange.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunks[0])
    const timer = setInterval(() => { response.write(chunks[1]) }, chunkEveryMs)
    response.once('close', () => clearInterval(timer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose] () {
      server.close()
      server.closeAllConnections()
    }
  }
}

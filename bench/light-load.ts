import { connect, type Socket } from 'node:net'

/** The load of a client that costs a few µs per request, so that it takes little of the servers' cores. */
export interface LightLoad {
  url: string
  /** Sent one after the other, over and over. */
  requests: readonly Buffer[]
  count: number
  connections: number
}

const headEnd = '\r\n\r\n'

/** A chat request as its bytes. */
export function chatRequest ({ url, key }: { url: string, key: string }, body: object): Buffer {
  const text = JSON.stringify(body)
  return Buffer.from(`POST /v1/chat/completions HTTP/1.1\r\nhost: ${new URL(url).host}\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}${headEnd}${text}`)
}

/** Sends requests in a closed loop on each connection. Throws an Error on an answer that is not 200. */
export async function sendLightLoad ({ url, requests, count, connections }: LightLoad): Promise<void> {
  const { hostname, port } = new URL(url)
  let sent = 0
  const next = () => sent < count ? requests[sent++ % requests.length] ?? null : null
  await Promise.all(Array.from({ length: connections }, async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    try {
      await exchange(socket, next)
    } finally {
      socket.destroy()
    }
  }))
}

/** Sends the next request when the answer to the last one is complete. */
async function exchange (socket: Socket, next: () => Buffer | null): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let received = ''
  const send = () => {
    const request = next()
    if (request === null) resolve()
    else socket.write(request)
  }
  socket.on('connect', send).on('error', reject).on('end', () => reject(new Error('the server closed a connection')))
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
    const headLength = received.indexOf(headEnd)
    if (headLength < 0) return
    const [, length = ''] = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, headLength)) ?? []
    if (!received.startsWith('HTTP/1.1 200') || length === '') return reject(new Error(received.slice(0, 500)))
    if (received.length < headLength + headEnd.length + Number(length)) return
    received = ''
    send()
  })
  return await promise
}

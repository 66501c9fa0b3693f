import { connect, type Socket } from 'node:net'

/** The load of a client that costs a few µs per request, so that it takes little of the servers' cores. */
export interface LightLoad {
  url: string
  key: string
  body: Buffer
  count: number
  connections: number
}

const headEnd = '\r\n\r\n'

/** Sends requests in a closed loop on each connection. Throws an Error on an answer that is not 200. */
export async function sendLightLoad ({ url, key, body, count, connections }: LightLoad): Promise<void> {
  const { hostname, port, host } = new URL(url)
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}${headEnd}`
  const request = Buffer.concat([Buffer.from(head), body])
  let left = count
  await Promise.all(Array.from({ length: connections }, async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    try {
      await exchange(socket, () => left-- > 0 ? request : null)
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

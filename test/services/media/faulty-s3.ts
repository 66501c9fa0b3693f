import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Teardown { teardown (work: () => unknown): void }

/**
 * `discards`: as a healthy bucket that forgets the bytes; `silent`: reads everything and never answers;
 * `deaf`: accepts and reads nothing; `drip`: reads a little at a time; `drops`: closes in mid-body; a number:
 * answers with that status.
 */
export type S3Mood = 'discards' | 'silent' | 'deaf' | 'drip' | 'drops' | 403 | 404 | 500 | 503

export interface FaultyS3 {
  endpoint: string
  mood: S3Mood
  /** Requests so far, e.g. `PUT /media/00/….mp4`. */
  requests: string[]
  /** Bytes of bodies read so far. */
  received: number
  /** Connections that are open. */
  open: number
}

/** A bucket over real sockets that fails as a test says. Answers to a GET stop half way. */
export async function startFaultyS3 (t: Teardown, mood: S3Mood): Promise<FaultyS3> {
  const s3: FaultyS3 = { endpoint: '', mood, requests: [], received: 0, open: 0 }
  const server = createServer((request, response) => answer(s3, request, response))
  server.on('checkContinue', (request, response) => {
    if (typeof s3.mood !== 'number') response.writeContinue()
    answer(s3, request, response)
  })
  server.on('connection', socket => {
    s3.open++
    socket.on('error', () => {}).on('close', () => { s3.open-- })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  s3.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return s3
}

function answer (s3: FaultyS3, request: IncomingMessage, response: ServerResponse): void {
  s3.requests.push(`${request.method} ${request.url?.split('?')[0]}`)
  const { mood } = s3
  if (typeof mood === 'number') {
    response.writeHead(mood, { 'content-type': 'application/xml', connection: 'close' })
    response.end(`<?xml version="1.0"?><Error><Code>${codes[mood]}</Code><Message>mood</Message></Error>`)
    return
  }
  if (mood === 'deaf') return
  if (mood === 'drip') {
    const timer = setInterval(() => { s3.received += (request.read(1024) ?? request.read() ?? '').length }, 20)
    request.on('close', () => clearInterval(timer))
    return
  }
  request.on('error', () => {}).on('data', (piece: Buffer) => {
    s3.received += piece.length
    if (mood === 'drops') request.socket.resetAndDestroy()
  })
  if (mood === 'silent' && request.method === 'GET') {
    response.writeHead(200, { 'content-length': 1_000_000 })
    response.write(Buffer.alloc(500_000))
  }
  if (mood === 'discards') request.on('end', () => response.writeHead(200, { etag: '"0"' }).end())
}

const codes = { 403: 'AccessDenied', 404: 'NoSuchBucket', 500: 'InternalError', 503: 'SlowDown' }

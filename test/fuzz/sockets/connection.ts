import { connect, type Socket } from 'node:net'

/** An answer as it came, with what is wrong with its HTTP. */
export interface RawAnswer {
  status: number
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>
  body: Buffer
  problem: string | null
}

/** `closed`: without an answer; `late`: not within the limit; `left`: this client went away. */
export type Outcome = RawAnswer | 'closed' | 'late' | 'left'

/** After how long the answer is late, and when the client leaves; null: it stays. */
interface ExchangeOptions { isHead: boolean, limitMs: number, leavesAfterMs: number | null }

/** Sends one request after another, and reads the answers more strictly than clients do. */
export interface RawConnection {
  exchange (bytes: Buffer, options: ExchangeOptions): Promise<Outcome>
  close (): void
}

/** A server may just be closing a connection that was idle for longer. */
const longestIdleMs = 2_000

/** A connection to a port of this machine, opened when it is needed. */
export function createRawConnection (port: number): RawConnection {
  let socket: Socket | null = null
  let usedAt = 0

  return {
    async exchange (bytes, { isHead, limitMs, leavesAfterMs }) {
      if (performance.now() - usedAt > longestIdleMs) {
        socket?.destroy()
        socket = null
      }
      const own = socket ?? connect({ port, host: '127.0.0.1', noDelay: true })
      socket = own
      const outcome = await new Promise<Outcome>(resolve => {
        const reader = createReader(isHead)
        const timer = setTimeout(() => resolve(leavesAfterMs === null ? 'late' : 'left'), leavesAfterMs ?? limitMs)
        const done = (outcome: Outcome) => {
          clearTimeout(timer)
          resolve(outcome)
        }
        own.removeAllListeners('data').removeAllListeners('close').removeAllListeners('error')
        own.on('error', () => {})
        own.on('data', (chunk: Buffer) => {
          const answer = reader.push(chunk)
          if (answer !== null) done(answer)
        })
        own.on('close', () => done(reader.end() ?? 'closed'))
        own.write(bytes)
      })
      const stays = typeof outcome === 'object' && outcome.problem === null &&
        outcome.headers.get('connection')?.toLowerCase() !== 'close' && !own.destroyed
      if (!stays) {
        own.destroy()
        socket = null
      }
      usedAt = performance.now()
      return outcome
    },
    close: () => { socket?.destroy() }
  }
}

const headEnd = Buffer.from('\r\n\r\n')
const headerPattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t\x80-\xff]*)$/

function createReader (isHead: boolean) {
  let bytes: Buffer[] = []
  let total = 0
  let head: Omit<RawAnswer, 'body'> | null = null
  let bodyAt = 0

  function whole (): Buffer {
    const all = bytes.length === 1 && bytes[0] !== undefined ? bytes[0] : Buffer.concat(bytes)
    bytes = [all]
    return all
  }

  function readHead (): void {
    while (head === null) {
      const all = whole()
      const end = all.indexOf(headEnd)
      if (end === -1) return
      const read = parseHead(all.toString('latin1', 0, end))
      bodyAt = end + 4
      if (read.status >= 200 || read.problem !== null) head = read
      else bytes = [all.subarray(bodyAt)]
    }
  }

  /** The answer when it is complete. */
  function look (): RawAnswer | null {
    readHead()
    if (head === null) return null
    const isEmpty = isHead || head.status === 204 || head.status === 304
    if (head.problem !== null || isEmpty) return { ...head, body: Buffer.alloc(0) }
    const length = head.headers.get('content-length')
    if (length !== undefined) {
      const missing = bodyAt + Number(length) - bytes.reduce((sum, { length }) => sum + length, 0)
      if (missing > 0) return null
      const extra = missing < 0 ? `${-missing} bytes too many` : null
      return { ...head, problem: extra, body: whole().subarray(bodyAt, bodyAt + Number(length)) }
    }
    if (head.headers.get('transfer-encoding') !== 'chunked') return null
    // Before the last bytes look like an end, taking the chunks apart would be in vain.
    const last = bytes.at(-1) ?? Buffer.alloc(0)
    const tail = last.length >= 5 ? last.subarray(-5) : whole().subarray(-5)
    return tail.toString('latin1') === '0\r\n\r\n' ? joinChunks(head, whole().subarray(bodyAt)) : null
  }

  return {
    push (chunk: Buffer): RawAnswer | null {
      bytes.push(chunk)
      total += chunk.length
      return look()
    },
    /** The answer of a connection that has ended. */
    end (): RawAnswer | null {
      if (head === null) return total === 0 ? null : { status: 0, headers: new Map(), body: whole(), problem: 'cut in its head' }
      const isOpenEnded = !head.headers.has('content-length') && !head.headers.has('transfer-encoding')
      // A chunked answer that is cut tells its client so: the end is missing.
      return { ...head, problem: isOpenEnded ? null : 'cut', body: whole().subarray(bodyAt) }
    }
  }
}

function parseHead (text: string): Omit<RawAnswer, 'body'> {
  const [first = '', ...lines] = text.split('\r\n')
  const headers = new Map<string, string>()
  let problem = /^HTTP\/1\.1 \d{3} /.test(first) ? null : `status line ${JSON.stringify(first.slice(0, 100))}`
  for (const line of lines) {
    const [, name, value] = headerPattern.exec(line) ?? []
    if (name === undefined || value === undefined) problem ??= `header ${JSON.stringify(line.slice(0, 100))}`
    else headers.set(name.toLowerCase(), value)
  }
  return { status: Number(first.split(' ')[1] ?? 0), headers, problem }
}

function joinChunks (head: Omit<RawAnswer, 'body'>, bytes: Buffer): RawAnswer | null {
  const parts: Buffer[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n', at)
    if (end === -1) return null
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (!(size >= 0)) return { ...head, body: bytes, problem: 'a chunk without a size' }
    if (size === 0) return { ...head, body: Buffer.concat(parts) }
    if (end + 2 + size + 2 > bytes.length) return null
    parts.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

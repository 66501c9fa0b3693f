import { startPostgresProcess } from '../../chaos/postgres.ts'
import { createBooks } from './books.ts'
import { createRawConnection, type RawConnection } from './connection.ts'
import { kindOf, startFuzzedGateway, type FuzzedGateway } from './gateway.ts'
import { startFuzzProvider } from './provider.ts'
import { createRequests, type ApiDocument, type FuzzRequest } from './requests.ts'
import { createVerdict, type Verdict } from './verdict.ts'

export interface FuzzOptions {
  engine: 'sqlite' | 'postgres'
  seed: number
  requests: number
  seconds: number
  connections: number
  /** The folder of the gateway. */
  root: string
  /** The number of the one request to send. */
  only: number | null
  /** Ends with the first problem that matches; null: goes on. */
  until: RegExp | null
  print (line: string): void
}

export interface Found {
  sent: number
  calls: number
  statuses: Record<string, number>
  kinds: Record<string, number>
  problems: string[]
  longestMs: number
  /** Bytes in use after each round. */
  memory: number[]
  seconds: number
}

/** Requests between two looks at the event loop. */
const perLook = 250
/** Requests until everything has to end: nothing may be left of them. */
const perRound = 4_000
const longestAllowedMs = 100
const maxProblems = 20
/** How often a request is sent alone to find out whether it, and not a busy machine, has caused a pause. */
const triesAlone = 10
/** Requests of one round that are sent again, alone, to find the one that caused a pause. */
const maxSuspects = 1_500

/** Fuzzes one gateway on one engine. */
export async function fuzz (options: FuzzOptions): Promise<Found> {
  const { engine, seed, root, requests: wanted, only } = options
  const provider = await startFuzzProvider(seed)
  await using postgres = engine === 'postgres' ? await startPostgresProcess() : null
  const databaseUrl = await postgres?.createSchema() ?? null
  await using gateway = await startFuzzedGateway({ root, providerPort: provider.port, databaseUrl })
  const document = await (await fetch(`${gateway.url}/openapi.json`)).json() as ApiDocument
  for (const id of ['scratch-1', 'scratch-2', 'scratch-3']) await createAccount(gateway, id)
  const keys = { user: gateway.userKey, admin: gateway.adminKey }
  const requestOf = createRequests(document, { seed, keys })
  const run = createRun({ gateway, verdict: createVerdict(document), options })
  const startedMs = performance.now()
  try {
    if (only === null) {
      // What is loaded on first use is no request's pause.
      await run.send(numbers(wanted, wanted + perLook).map(requestOf), false)
      await gateway.read(true)
      for (let at = 0; at < wanted && !run.isOver(startedMs); at += perRound) {
        await run.round(numbers(at, Math.min(wanted, at + perRound)).map(at => () => requestOf(at)))
      }
      await run.end()
    } else {
      await run.show(requestOf(only))
    }
    if (provider.trapped > 0) run.note(`${provider.trapped} connections to a place of no provider`)
  } finally {
    provider.close()
    for (const connection of run.connections) connection.close()
  }
  return { ...run.found, calls: provider.calls, seconds: (performance.now() - startedMs) / 1000 }
}

function numbers (from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at)
}

async function createAccount ({ url, adminKey }: FuzzedGateway, id: string): Promise<void> {
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  await fetch(`${url}/admin/accounts`, { method: 'POST', headers, body: JSON.stringify({ id }) })
}

interface RunParts { gateway: FuzzedGateway, verdict: Verdict, options: FuzzOptions }

function createRun ({ gateway, verdict, options }: RunParts) {
  const connections = Array.from({ length: options.connections }, () => createRawConnection(gateway.port))
  const found: Omit<Found, 'seconds' | 'calls'> = {
    sent: 0, statuses: {}, kinds: {}, problems: [], longestMs: 0, memory: []
  }
  const seen = new Set<string>()
  const books = createBooks(gateway)
  const { print } = options

  const isEnough = (): boolean => {
    const { until } = options
    return until !== null && found.problems.some(problem => until.test(problem))
  }

  function note (problem: string): void {
    const kind = kindOf(problem)
    if (seen.has(kind) || found.problems.length >= maxProblems) return
    seen.add(kind)
    found.problems.push(`after ${found.sent} requests: ${problem}`)
    print(`FOUND after ${found.sent} requests: ${problem}`)
  }

  async function sendOne (
    connection: RawConnection, request: FuzzRequest, isCounted: boolean
  ): Promise<void> {
    const { bytes, method, model, surface, leavesAfterMs } = request
    const answer = await connection.exchange(bytes, { isHead: method === 'head', limitMs: 40_000, leavesAfterMs })
    if (!isCounted) return
    found.sent++
    const status = typeof answer === 'string' ? answer : String(answer.status)
    found.statuses[status] = (found.statuses[status] ?? 0) + 1
    const kind = model === null ? 'none' : surface.models?.includes(model) === true ? model : 'other'
    found.kinds[kind] = (found.kinds[kind] ?? 0) + 1
    if (answer === 'left') return
    const problem = typeof answer === 'string' ? `no answer: ${answer}` : verdict(request, answer)
    if (problem !== null) note(`${request.method} ${request.path} (--only ${request.index}): ${problem}`)
    else if (typeof answer === 'object') books.expect(request, answer)
  }

  async function send (requests: readonly FuzzRequest[], isCounted = true): Promise<void> {
    const queue = requests.values()
    await Promise.all(connections.map(async connection => {
      for (const request of queue) await sendOne(connection, request, isCounted)
    }))
  }

  /** Sends requests as they are made; returns those among which one has kept the event loop for too long. */
  async function sendWatched (makers: readonly (() => FuzzRequest)[]): Promise<FuzzRequest[]> {
    const queue = makers.values()
    const suspects: FuzzRequest[] = []
    const underWay = new Set<FuzzRequest>()
    let recent: FuzzRequest[] = []
    let isOver = false
    const look = async (): Promise<void> => {
      const own = [...recent, ...underWay]
      recent = []
      const { longestMs } = await gateway.read()
      if (longestMs > longestAllowedMs && suspects.length < maxSuspects) suspects.push(...own)
      // Nothing but a pause is looked for.
      if (suspects.length > 0 && options.until?.test('a pause of the event loop') === true) isOver = true
      if (longestMs <= longestAllowedMs) found.longestMs = Math.max(found.longestMs, longestMs)
    }
    await Promise.all(connections.map(async connection => {
      for (const make of queue) {
        const request = make()
        underWay.add(request)
        await sendOne(connection, request, true)
        underWay.delete(request)
        if (recent.push(request) >= perLook && gateway.exitCode === null) await look()
        if (isOver || gateway.exitCode !== null || isEnough()) return
      }
    }))
    if (gateway.exitCode === null) await look()
    return suspects
  }

  /** Finds the request that keeps the event loop for too long: the one that does it again, alone. */
  async function findPause (requests: readonly FuzzRequest[]): Promise<void> {
    const [first] = connections
    if (first === undefined) return
    for (const request of requests) {
      if (isEnough()) return
      const alone = { ...request, leavesAfterMs: null }
      let longestMs = Infinity
      for (let turn = 0; turn < triesAlone && longestMs > longestAllowedMs; turn++) {
        // Collecting what others have left behind is not its work. Once, as V8 gives up code that was not
        // used between several collections, and to compile that again takes longer than the request.
        await gateway.read(turn === 1)
        await gateway.read()
        await sendOne(first, alone, false)
        longestMs = Math.min(longestMs, (await gateway.read()).longestMs)
      }
      found.longestMs = Math.max(found.longestMs, longestMs)
      if (longestMs > longestAllowedMs) {
        const { method, path, index } = request
        note(`${method} ${path} (--only ${index}): a pause of the event loop, ${longestMs.toFixed(0)} ms`)
      }
    }
  }

  return {
    found,
    connections,
    note,
    send,
    isOver: (startedMs: number) => gateway.exitCode !== null ||
      performance.now() - startedMs > options.seconds * 1000 ||
      (isEnough()),

    /** Sends requests, then waits until nothing is under way and checks what is left. */
    async round (makers: readonly (() => FuzzRequest)[]): Promise<void> {
      const suspects = await sendWatched(makers)
      if (gateway.exitCode !== null) {
        return note(`the gateway has ended with ${gateway.exitCode}: ${gateway.lastLines()}`)
      }
      for (const problem of gateway.problems) note(problem)
      for (const problem of await books.problems()) note(problem)
      // After the books: these are sent again.
      await findPause(suspects)
      found.memory.push((await gateway.read(true)).usedBytes)
    },

    async end (): Promise<void> {
      if (gateway.exitCode !== null) return
      for (const problem of await books.check()) note(problem)
      const growth = growthOf(found.memory)
      if (growth !== null) note(growth)
    },

    async show (request: FuzzRequest): Promise<void> {
      print(request.bytes.toString().slice(0, 3_000))
      await sendOne(connections[0] ?? createRawConnection(gateway.port), request, true)
      const options = { isHead: false, limitMs: 40_000, leavesAfterMs: null }
      const answer = await connections[1]?.exchange(request.bytes, options)
      if (typeof answer !== 'object') return print(String(answer))
      const { status, problem, headers, body } = answer
      print(`${status} ${problem ?? ''}\n${[...headers].join('\n')}\n\n${body.toString().slice(0, 3_000)}`)
      for (const problem of gateway.problems) print(problem)
    }
  }
}

/** Bytes that may be kept for good by each request: rows of caches that have not reached their limits. */
const slackBytes = 24 * 1024 ** 2

/** Whether memory grows: the least of the last third of the rounds against that of the middle third. */
function growthOf (memory: readonly number[]): string | null {
  if (memory.length < 3) return null
  const third = Math.floor(memory.length / 3)
  const least = (values: readonly number[]) => Math.min(...values)
  const middle = least(memory.slice(third, 2 * third))
  const last = least(memory.slice(-third))
  const text = `memory grows from ${(middle / 1024 ** 2).toFixed(0)} to ${(last / 1024 ** 2).toFixed(0)} MiB`
  return last > middle * 1.1 + slackBytes ? text : null
}

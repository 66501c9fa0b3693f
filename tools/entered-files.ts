import { readFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { made, perImage } from '../test/contract/image-shop.ts'
import { configFor, providerAt, startGateway } from '../test/helpers/gateway.ts'
import { startImageServer } from '../test/servers/image-server.ts'
import { startUpstream } from '../test/servers/upstream.ts'

// Counts the project files that a warm request enters: those outside `test`, `bench` and `tools` of which it
// calls at least one function, by V8's precise coverage. Code at the top level of a module does not count.
//
// The gateway runs in this process with an SQLite file, a priced model and a local provider, on real sockets.
// The calls of the 150 ms after its response, in which the charge is booked and the logs and metrics are
// written, are listed apart; the limit is for all. A file counts if several equal requests all call the same
// function in it, so a timer that happens to fire adds none.

const usage = `npm run entered -- [options]
  --stream      ask for a streamed answer
  --image       ask for an image instead of a chat completion
  --model <id>  ask a model of the sandbox instead of a local provider, e.g. sandbox-chat
  --max <n>     exit with 1 if the request enters more than n files until it is booked and logged
  --json        print the functions by file as JSON`

const { values } = parseArgs({
  options: {
    stream: { type: 'boolean', default: false },
    image: { type: 'boolean', default: false },
    model: { type: 'string' },
    max: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false }
  }
})

const root = join(import.meta.dirname, '..')
const warmUps = 50
const requests = 10
/** Longer than the gateway collects settlements (25 ms) and lines of the request log (100 ms). */
const settleMs = 150
/** Short enough that what requests keep warm, such as the cache of keys, stays warm. */
const pauseMs = 100

/** The functions that were called, each as `<file> <function>`. */
type Calls = Set<string>

/** The functions that were called, by file. */
type Entered = Record<string, string[]>

if (values.help) console.log(usage)
else await main()

async function main (): Promise<void> {
  await using cleanUp = new AsyncDisposableStack()
  const send = await startSubject(cleanUp)
  const { entered, later } = await measure(send, await startCoverage())
  const count = Object.keys(entered).length
  const laterCount = Object.keys(later).filter(file => !(file in entered)).length
  console.log(values.json
    ? JSON.stringify({ entered, later }, null, 2)
    : `${listOf(entered)}\nLater:\n${listOf(later)}\n` +
      `The request enters ${count} files until its response, and ${laterCount} more to book and log it.`)
  if (count + laterCount > Number(values.max ?? Infinity)) {
    console.error(`The limit is ${values.max} files.`)
    process.exitCode = 1
  }
}

/** The functions that every request has called until its response, and later. */
async function measure (
  send: () => Promise<void>, take: () => Promise<Calls>
): Promise<{ entered: Entered, later: Entered }> {
  for (let count = 0; count < warmUps; count++) await send()
  const spans: Calls[] = []
  const laterSpans: Calls[] = []
  for (let index = 0; index < requests; index++) {
    // Differs from one to the next, so that no timer keeps pace with the requests.
    await pause(pauseMs + index * 61)
    await take()
    await send()
    spans.push(await take())
    await pause(settleMs)
    laterSpans.push(await take())
  }
  const common = (all: Calls[]): Entered => byFile(all.reduce((shared, span) => shared.intersection(span)))
  return { entered: common(spans), later: common(laterSpans) }
}

function byFile (calls: Calls): Entered {
  const entered: Entered = {}
  for (const key of [...calls].sort()) {
    const [file = '', name = ''] = key.split(/ (.*)/)
    entered[file] = [...entered[file] ?? [], name]
  }
  return entered
}

/** Starts a provider and a gateway; returns a function that sends one request and reads its response. */
async function startSubject (cleanUp: AsyncDisposableStack): Promise<() => Promise<void>> {
  const folder = cleanUp.use(await mkdtempDisposable(join(tmpdir(), 'tollgate-entered-')))
  const test = { teardown: (work: () => unknown) => { cleanUp.defer(async () => { await work() }) } }
  const provided = () => values.image ? imageConfig(test) : chatConfig(cleanUp)
  const config = values.model === undefined ? await provided() : undefined
  const { url, headers } = await startGateway(test, {
    ...(config !== undefined && { config }),
    env: { DATABASE_URL: `sqlite:${join(folder.path, 'tollgate.db')}`, TOLLGATE_STARTING_CREDIT: '1000' }
  })
  const model = values.model ?? 'subject'
  const path = values.image ? '/images/generations' : '/chat/completions'
  const question = values.image ? { prompt: 'A fox' } : { messages: [{ role: 'user', content: 'Where is the fox?' }] }
  const body = JSON.stringify({ model, ...question, ...(values.stream && { stream: true }) })
  return async () => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body })
    const text = await response.text()
    if (!response.ok) throw new Error(`${response.status}: ${text}`)
  }
}

async function chatConfig (cleanUp: AsyncDisposableStack) {
  const upstream = await startUpstream()
  cleanUp.defer(() => upstream.close())
  const price = { ...perImage.price, inputPico: 150_000, outputPico: 600_000 }
  return configFor(providerAt(upstream.url), { id: 'subject', price })
}

async function imageConfig (test: Parameters<typeof startImageServer>[0]) {
  const server = await startImageServer(test, () => made())
  return configFor(providerAt(server.url), { id: 'subject', ...perImage })
}

/** Starts to count calls; the function it returns takes those since it was last called. */
async function startCoverage (): Promise<() => Promise<Calls>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return new Set(result.filter(({ url }) => isProject(url)).flatMap(({ url, functions }) => {
      const file = relative(root, fileURLToPath(url))
      return functions.flatMap(({ functionName, ranges: [range] }) => {
        // The function that starts with the file is the module itself.
        if (range === undefined || range.count === 0 || range.startOffset === 0) return []
        return [`${file} ${functionName || 'anonymous'}:${lineAt(file, range.startOffset)}`]
      })
    }))
  }
}

function isProject (url: string): boolean {
  if (!url.startsWith('file:')) return false
  return !/^(\.\.|node_modules|test|bench|tools)\//.test(relative(root, fileURLToPath(url)))
}

/** Type stripping keeps each offset, so the line is that of the source. */
function lineAt (file: string, offset: number): number {
  return readFileSync(join(root, file), 'utf8').slice(0, offset).split('\n').length
}

function listOf (entered: Entered): string {
  return Object.entries(entered).map(([file, names]) => `${file}\n    ${names.join(' ')}`).join('\n') + '\n'
}

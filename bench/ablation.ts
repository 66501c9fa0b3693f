import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { tricks } from './ablation/tricks.ts'
import { startServer, startWorker, type Child } from './child.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { cpuUsPerRequest, runLoad, type Load } from './measure.ts'
import { bareProgram, loadProgram, subjectProgram, upstreamProgram } from './programs.ts'
import { requests, type RequestName } from './requests.ts'
import { lowerHalfOf, mean, standardErrorOf } from './statistics.ts'

// Measures what each trick of the hot path saves, in CPU time per chat request. All are switched in one
// process: two processes that run the same code differ by more than most tricks save.

const usage = `node bin/node.js bench/ablation.ts [${Object.keys(tricks).join('] [')}] [all]
  --request <name>   ${Object.keys(requests).join(', ')}; default priced
  --rounds <n>       comparisons per trick, default 40`

/** The pieces of one comparison; drift and the slower first piece after another server cancel out. */
const orders = [['on', 'off', 'off', 'on'], ['off', 'on', 'on', 'off']] as const

/** Longer than the flush interval of the ledger. */
const flushMs = 30

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    request: { type: 'string', default: 'priced' },
    rounds: { type: 'string', default: '40' },
    help: { type: 'boolean', default: false }
  }
})
const known = [...Object.keys(tricks), 'all']
const rounds = Number(values.rounds)
const isKnown = (name: string): name is RequestName => Object.hasOwn(requests, name)

if (values.help) {
  console.log(usage)
} else if (!isKnown(values.request) || !(rounds >= 2) || !positionals.every(name => known.includes(name))) {
  console.error(usage)
  process.exitCode = 2
} else {
  await measureAll(positionals.length > 0 ? positionals : known, values.request)
}

type Piece = 'bare' | 'on' | 'off'
/** CPU time of one request in each piece of a comparison, in µs. */
type Pieces = Record<Piece, number[]>

async function measureAll (names: readonly string[], request: RequestName): Promise<void> {
  await using workspace = await mkdtempDisposable(join(tmpdir(), 'ablation-'))
  await using upstream = await startServer(upstreamProgram)
  await using generator = startWorker<LoadOrder, LoadResult>(loadProgram)
  await using bare = await startServer(bareProgram(upstream.url))
  const program = await subjectProgram('tollgate', upstream.url, workspace.path)
  const switches = join(import.meta.dirname, 'ablation/switches.ts')
  // The sources, which the switches patch, instead of the bundle.
  const file = join(import.meta.dirname, '..', 'bin', 'serve.ts')
  await using gateway = await startServer({ ...program, file, preloads: [switches] })
  const load: Load = order => generator.run(order)
  // Short, because the load of a shared machine changes within a second.
  const order = { request, count: 100, concurrency: 16 } as const

  const warm = async ({ url, key }: Child) => { await runLoad(load, { ...order, count: 4000, url, key }) }
  for (let times = 0; times < 5; times++) await warm(bare)
  // Until the JIT has compiled it, which takes 30,000 requests.
  for (let times = 0; times < 8; times++) await warm(gateway)
  for (const name of [...names, 'none']) {
    await gateway.ask({ ablate: name })
    await warm(gateway)
  }
  const pieceUs = async (piece: Piece, name: string): Promise<number> => {
    if (piece === 'bare') return await cpuUsPerRequest(bare, load, order, flushMs)
    await gateway.ask({ ablate: piece === 'on' ? 'none' : name })
    return await cpuUsPerRequest(gateway, load, order, flushMs)
  }

  console.log('trick          saves, µs      with it  bare   instead')
  for (const name of names) {
    const comparisons: Pieces[] = []
    while (comparisons.length < rounds) {
      const pieces: Pieces = { bare: [], on: [], off: [] }
      const [first, second] = orders
      for (const piece of ['bare', ...comparisons.length % 2 === 0 ? first : second] as const) {
        pieces[piece].push(await pieceUs(piece, name))
      }
      comparisons.push(pieces)
    }
    console.log(lineOf(name, comparisons))
  }
}

function lineOf (name: string, comparisons: readonly Pieces[]): string {
  const figures = [saved(comparisons).toFixed(2).padStart(6), standardErrorOf(comparisons, saved).toFixed(2)]
  const [on, bare] = [fasterHalf(comparisons, 'on'), fasterHalf(comparisons, 'bare')].map(us => us.toFixed(0).padStart(7))
  return `${name.padEnd(12)} ${figures.join(' ± ')}  ${on}${bare}   ${tricks[name]?.plain ?? 'all of these'}`
}

function saved (comparisons: readonly Pieces[]): number {
  return fasterHalf(comparisons, 'off') - fasterHalf(comparisons, 'on')
}

/** The mean of the faster half, because other processes only ever add time. */
function fasterHalf (comparisons: readonly Pieces[], piece: Piece): number {
  return mean(lowerHalfOf(comparisons.flatMap(pieces => pieces[piece])))
}

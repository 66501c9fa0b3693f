import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../services/shared/errors.ts'
import { createLedger } from '../../services/billing/ledger/create.ts'
import { openStore } from '../../services/store/open.ts'
import { StoreUnavailable, type Queries, type Store } from '../../services/store/store.ts'

/**
 * A node that spends the account `paying` as fast as it can until it is killed or gets SIGTERM. Arguments:
 * URL of the store, id of the node, prefix of its request ids. It prints `settle <id> <cost>` before it
 * settles a request and `disk <id>` when the settlement is written. It sends its parent `ready`, and `away`
 * or `back` as the database disappears and returns. With a fourth argument `<n>:<moment>`, it kills itself at
 * its n-th statement after its parent has sent `arm`.
 */
const [url = '', nodeId = '', prefix = '', killPoint = ''] = process.argv.slice(2)
const concurrency = 16
const maxHoldNano = 2_000
/** Longer than a busy machine delays a request, which would be too late to be charged. */
const durableMs = 5_000

const opened = await openStore(url)
const statements = killAtStatement(killPoint)
const store = { ...opened, ...statements.watch(opened), transaction: watchTransactions(opened) }
const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const options = { chunkNano: 20_000 }
const ledger = createLedger({ store, nodeId, log: quiet, options })
let count = 0
let reported = 'back'
const ending = new AbortController()
process.once('SIGTERM', () => ending.abort())
await ledger.balance('paying')
// Who is killed does not write it at its end.
flushCompileCache()
process.once('message', () => statements.arm())
process.send?.('ready')
await Promise.all(Array.from({ length: concurrency }, spend))
await ledger.close()
await store.close()
process.disconnect?.()

async function spend (): Promise<void> {
  while (!ending.signal.aborted) {
    const id = `${prefix}-${++count}`
    const amountNano = 1 + Math.floor(Math.random() * maxHoldNano)
    const durable = Math.random() < 0.02
    const fresh = Math.random() < 0.7
    try {
      const expiresAt = durable ? Date.now() + durableMs : undefined
      const chain = ['paying', 'budget']
      const hold = await ledger.reserve({ id, chain, key: 'key', amountNano, durable, expiresAt, fresh })
      await sleep(Math.random() * 4)
      const costNano = 1 + Math.floor(Math.random() * amountNano)
      print(`settle ${id} ${costNano}`)
      hold.settle({ amountNano: costNano, ref: id, model: 'm', usage: {}, estimated: false })
        .then(() => {
          print(`disk ${id}`)
          report('back')
        })
    } catch (error) {
      if (error instanceof StoreUnavailable) report('away')
      else if (!(error instanceof GatewayError && [402, 429, 503].includes(error.status))) throw error
      await sleep(5)
    }
  }
}

function report (database: 'back' | 'away'): void {
  if (database !== reported) process.send?.(database)
  reported = database
}

/** Output goes to a file, whose synchronous writes survive a kill. */
function print (line: string): void {
  process.stdout.write(`${line}\n`)
}

/**
 * Kills this process at the n-th statement that it runs once armed: `before` it is sent, `during`, when it
 * was sent and not answered, or `after` it was answered. A kill `after` the last statement of a transaction
 * comes before its commit.
 */
function killAtStatement (point: string) {
  const [number, moment] = point.split(':')
  let left = Infinity
  const kill = () => process.kill(process.pid, 'SIGKILL')

  async function run<Result> (statement: () => Promise<Result>): Promise<Result> {
    left--
    if (left !== 0) return await statement()
    if (moment === 'before') kill()
    const result = statement()
    if (moment === 'during') kill()
    return await result.finally(kill)
  }

  return {
    arm: () => { left = number === '' ? Infinity : Number(number) },
    run,
    watch: (queries: Queries): Queries => ({
      all: (sql, params) => run(() => queries.all(sql, params)),
      get: (sql, params) => run(() => queries.get(sql, params)),
      run: (sql, params) => run(() => queries.run(sql, params))
    })
  }
}

/** A commit counts as a statement as well. */
function watchTransactions ({ transaction }: Store): Store['transaction'] {
  return async work => await statements.run(() => transaction(queries => work(statements.watch(queries))))
}

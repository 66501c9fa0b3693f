import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../services/shared/errors.ts'
import { createLedger } from '../../services/ledger/create.ts'
import { openStore } from '../../services/store/open.ts'
import { StoreUnavailable } from '../../services/store/store.ts'

/**
 * A node that spends the account `paying` as fast as it can until it is killed or gets SIGTERM. Arguments:
 * URL of the store, id of the node, prefix of its request ids. It prints `settle <id> <cost>` before it
 * settles a request and `disk <id>` when the settlement is written. It sends its parent `ready`, and `away`
 * or `back` as the database disappears and returns.
 */
const [url = '', nodeId = '', prefix = ''] = process.argv.slice(2)
const concurrency = 16
const maxHoldNano = 2_000

const store = await openStore(url)
const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const options = { chunkNano: 20_000, durableOverNano: 1_900 }
const ledger = createLedger({ store, nodeId, log: quiet, options })
let count = 0
let reported = 'back'
const ending = new AbortController()
process.once('SIGTERM', () => ending.abort())
await ledger.balance('paying')
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
      const expiresAt = durable ? Date.now() + 1_000 : undefined
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
      else if (!(error instanceof GatewayError && error.status === 402)) throw error
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

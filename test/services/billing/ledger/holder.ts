import { createLedger } from '../../../../services/billing/ledger/create.ts'
import { openSqlite } from '../../../../services/store/sqlite.ts'

/** A process that holds 600 of the account `acme`, says so, and lives until it is killed: path, node. */
const [path = '', nodeId = ''] = process.argv.slice(2)
const store = await openSqlite(path)
const ledger = createLedger({ store, nodeId, options: { idleMs: 60_000 } })
await ledger.reserve({ id: 'held', chain: ['acme'], key: 'key', amountNano: 600 })
process.stdout.write('held\n')
setInterval(() => {}, 60_000)

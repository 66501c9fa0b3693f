import { createAccounts } from '../../../services/ledger/accounts.ts'
import { openSqlite } from '../../../services/store/sqlite.ts'

/**
 * A process that makes deposits of 1 and prints the id of each one once it is booked: path, name, how many.
 */
const [path = '', name = '', count = ''] = process.argv.slice(2)
const store = await openSqlite(path)
const accounts = createAccounts(store)
await accounts.create({ id: 'shared' })
for (let number = 1; number <= Number(count); number++) {
  const id = `${name}-${number}`
  await accounts.deposit({ id, account: 'shared', amountNano: 1 })
  process.stdout.write(`${id}\n`)
}
await store.close()

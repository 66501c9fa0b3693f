import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { checkBooks } from '../../../../services/billing/ledger/check/check-books.ts'
import { rollUpViolations } from '../../../../services/operations/reports/check-roll-up.ts'
import { openStore } from '../../../../services/store/open.ts'
import { temporaryFolder } from '../../../helpers/process.ts'
import { createBooks, reservation, spend, startLedger } from './helper.ts'

t.test('a copy that SQLite makes of a running gateway adds up, and its money is free', async t => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'tollgate.db')
  const store = await openStore(`sqlite:${file}`)
  t.teardown(() => store.close())
  await createBooks(store, { acme: 1_000_000, budget: 1_000_000 })
  const { ledger } = startLedger(t, store)
  await ledger.reserve(reservation(5_000))
  const over = new AbortController()
  const spending = (async () => {
    while (!over.signal.aborted) await Promise.all([1, 2, 3].map(() => spend(ledger, 30, 7, { chain: ['acme', 'budget'] })))
  })()
  const operator = new DatabaseSync(file)
  for (const name of ['one.db', 'two.db', 'three.db']) {
    operator.exec(`vacuum into '${join(folder, name)}'`)
    await spend(ledger, 30, 7, { chain: ['acme'] })
  }
  operator.close()
  over.abort()
  await spending
  const spentNano: number[] = []
  for (const name of ['one.db', 'two.db', 'three.db']) {
    const copy = await openStore(`sqlite:${join(folder, name)}`)
    const { violations } = await checkBooks(copy, { derived: rollUpViolations })
    t.same(violations, [], name)
    const restored = startLedger(t, copy).ledger
    const balance = await restored.balance('acme')
    t.equal(balance.heldNano, 0, 'no node of the original holds anything in the copy')
    spentNano.push(balance.spentNano)
    await spend(restored, 100, 100, { chain: ['acme', 'budget'] })
    t.same((await checkBooks(copy)).violations, [])
    await restored.close()
    await copy.close()
  }
  t.same(spentNano, spentNano.toSorted((one, other) => one - other))
})

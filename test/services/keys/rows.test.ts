import t from 'tap'
import {
  hasKeys, insertKey, lockKey, markKeyRevoked, markKeyUsed, maxKeysPerQuery, replaceKeySecret, selectKey,
  selectKeyPage, selectKeysWithParents, toListedKey, updateKeySettings
} from '../../../services/keys/rows.ts'
import { noSettings, type KeySettings } from '../../../services/keys/settings.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import { noLimits } from '../../../services/shared/limits.ts'
import type { Store } from '../../../services/store/store.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import type { Database } from '../../helpers/engines.ts'

const settings: KeySettings = {
  ...noSettings,
  label: 'laptop',
  models: ['gpt-*', 'a,"b'],
  budget: { limitNano: 5, period: 'week' },
  expiresAt: 9_000,
  limits: { requestsPerMinute: 1, tokensPerMinute: null, concurrentRequests: 3 }
}
const bare: KeySettings = { ...noSettings }

function newKey (id: string, more: object = {}) {
  return { id, secretSha256: `hash of ${id}`, account: 'acme', role: 'user' as const, createdAt: 1_000, ...settings, ...more }
}

const unused = { previousSha256: null, previousUntil: null, revokedAt: null, lastUsedAt: null }

async function openWithAccount (database: Database): Promise<Store> {
  const store = await database.open()
  await createAccounts(store).create({ id: 'acme' })
  return store
}

forEachEngine(t, 'a key is read back as it was inserted, with all settings or none', async (t, database) => {
  const store = await openWithAccount(database)
  t.equal(await hasKeys(store), false)
  for (const key of [newKey('all'), newKey('none', { ...bare, role: 'owner' })]) {
    t.equal(await insertKey(store, key), true)
    t.same(await selectKey(store, key.id), { ...key, ...unused })
  }
  t.equal(await hasKeys(store), true)
  t.equal(await selectKey(store, 'other'), undefined)
})

forEachEngine(t, 'a key is inserted for an existing account only, and not for a budget', async (t, database) => {
  const store = await openWithAccount(database)
  await store.run(`insert into account (id, name, currency, kind, created_at)
    values ('budget:x', 'x', 'USD', 'budget', 1)`)
  for (const account of ['missing', 'budget:x']) {
    t.equal(await insertKey(store, newKey('a', { account })), false, account)
  }
  t.equal(await hasKeys(store), false)
  await insertKey(store, newKey('a'))
  await t.rejects(insertKey(store, newKey('a')), 'an id is taken once')
})

forEachEngine(t, 'keys are selected with the parents and limits of their accounts, nearest first', async (t, database) => {
  const store = await database.open()
  const accounts = createAccounts(store)
  const line = ['top', 'second', 'third', 'fourth', 'fifth']
  for (const [index, id] of line.entries()) {
    const limits = index % 2 === 0 ? { ...noLimits, tokensPerMinute: index + 1 } : noLimits
    await accounts.create({ id, parent: line[index - 1] ?? null, limits })
  }
  await insertKey(store, newKey('deep', { account: 'fifth' }))
  await insertKey(store, newKey('flat', { account: 'top', limits: noLimits }))
  const tokens = (count: number) => ({ ...noLimits, tokensPerMinute: count })
  const deep = {
    ...newKey('deep', { account: 'fifth' }),
    ...unused,
    accountState: 'active' as const,
    parents: ['fourth', 'third', 'second', 'top'],
    accountLimits: [tokens(5), noLimits, tokens(3), noLimits, tokens(1)]
  }
  const flat = {
    ...newKey('flat', { account: 'top', limits: noLimits }),
    ...unused,
    accountState: 'active' as const,
    parents: [],
    accountLimits: [tokens(1)]
  }
  t.same(await selectKeysWithParents(store, ['deep']), [deep])
  t.same(await selectKeysWithParents(store, ['flat']), [flat])
  const both = await selectKeysWithParents(store, ['flat', 'unknown', 'deep'])
  t.same(both.toSorted((one, other) => one.id < other.id ? -1 : 1), [deep, flat])
  t.same(await selectKeysWithParents(store, ['unknown']), [])
})

forEachEngine(t, 'one query selects its maximum of keys', async (t, database) => {
  const store = await openWithAccount(database)
  const ids = Array.from({ length: maxKeysPerQuery }, (_, index) => `key-${index}`)
  for (const id of ids) await insertKey(store, newKey(id, bare))
  const found = await selectKeysWithParents(store, ids)
  t.same(found.map(({ id }) => id).sort(), ids.sort())
})

forEachEngine(t, 'an update writes every setting, and clears what is null', async (t, database) => {
  const store = await openWithAccount(database)
  await insertKey(store, newKey('a', bare))
  await insertKey(store, newKey('b', bare))
  await updateKeySettings(store, 'a', settings)
  t.match(await selectKey(store, 'a'), settings)
  await updateKeySettings(store, 'a', bare)
  t.same(await selectKey(store, 'a'), { ...newKey('a', bare), ...unused })
  await updateKeySettings(store, 'b', { ...settings, budget: { limitNano: 7, period: null } })
  t.match(await selectKey(store, 'b'), { budget: { limitNano: 7, period: null } })
  t.match(await selectKey(store, 'a'), bare, 'the other key is untouched')
})

forEachEngine(t, 'a replaced secret becomes the previous one', async (t, database) => {
  const store = await openWithAccount(database)
  await insertKey(store, newKey('a'))
  await replaceKeySecret(store, 'a', 'second', 50)
  t.match(await selectKey(store, 'a'), { secretSha256: 'second', previousSha256: 'hash of a', previousUntil: 50 })
  await replaceKeySecret(store, 'a', 'third', 60)
  t.match(await selectKey(store, 'a'), { secretSha256: 'third', previousSha256: 'second', previousUntil: 60 })
})

forEachEngine(t, 'a key is revoked once, and its last use never moves back', async (t, database) => {
  const store = await openWithAccount(database)
  await insertKey(store, newKey('a'))
  t.equal(await markKeyRevoked(store, 'a', 30), true)
  t.equal(await markKeyRevoked(store, 'a', 40), false)
  t.equal(await markKeyRevoked(store, 'unknown', 40), false)
  for (const at of [20, 50, 40]) await markKeyUsed(store, 'a', at)
  t.match(await selectKey(store, 'a'), { revokedAt: 30, lastUsedAt: 50 })
})

forEachEngine(t, 'pages are newest first, and by id within a millisecond', async (t, database) => {
  const store = await openWithAccount(database)
  await createAccounts(store).create({ id: 'other' })
  for (const [id, createdAt, account] of [['b', 2, 'acme'], ['a', 2, 'acme'], ['c', 1, 'other'], ['d', 3, 'acme']] as const) {
    await insertKey(store, newKey(id, { createdAt, account }))
  }
  const page = async (account: string | null, after: string | null, limit: number) =>
    (await selectKeyPage(store, { account, after, limit })).map(({ id }) => id)
  t.same(await page(null, null, 10), ['d', 'a', 'b', 'c'])
  t.same(await page(null, null, 2), ['d', 'a'])
  t.same(await page(null, 'a', 2), ['b', 'c'])
  t.same(await page('acme', 'a', 10), ['b'])
  t.same(await page('missing', null, 10), [])
  t.same(await page(null, 'unknown', 10), [])
})

forEachEngine(t, 'a locked key cannot be changed by another transaction until the lock is released', async (t, database) => {
  const [store, other] = [await openWithAccount(database), await database.open()]
  await insertKey(store, newKey('a'))
  const order: string[] = []
  let change = Promise.resolve()
  await store.transaction(async (queries) => {
    t.match(await lockKey(queries, 'a'), { id: 'a', label: 'laptop' })
    t.equal(await lockKey(queries, 'unknown'), undefined)
    change = updateKeySettings(other, 'a', { ...settings, label: 'server' }).then(() => { order.push('changed') })
    t.match(await selectKey(queries, 'a'), { label: 'laptop' })
    order.push('unlocked')
  })
  await change
  t.same(order, ['unlocked', 'changed'])
  t.match(await selectKey(store, 'a'), { label: 'server' })
})

t.test('a listed key has no hashes', async (t) => {
  const listed = toListedKey({ ...newKey('a'), ...unused, previousSha256: 'before' })
  t.notMatch(JSON.stringify(listed), /hash of|before/)
  t.match(listed, { id: 'a', ...settings, previousUntil: null })
})

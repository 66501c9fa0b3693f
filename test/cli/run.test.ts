import t from 'tap'
import type { Test } from 'tap'
import { openStore } from '../../services/store/open.ts'
import { amounts, notAmounts } from '../helpers/amount-cases.ts'
import { createDatabase, createEmptyDatabase } from '../helpers/engines.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { makeOlderDatabase } from '../services/store/older-database.ts'
import { createCommandLine, runAt } from './helper.ts'
import type { CommandLine } from './helper.ts'

/** Runs a test against a database of each engine. */
function onEachEngine (
  name: string, work: (t: Test, commands: CommandLine) => Promise<void>, create = createDatabase
): void {
  for (const engine of ['sqlite', 'postgres'] as const) {
    t.test(`${name} (${engine})`, async t => await work(t, await createCommandLine(t, engine, create)))
  }
}

onEachEngine('amounts follow the one rule', async (t, { run, json }) => {
  await run('accounts', 'create', 'a')
  for (const [text, nano] of amounts.filter(([, nano]) => nano < Number.MAX_SAFE_INTEGER)) {
    t.match(await json('credits', 'add', 'a', text), { amount_nano: nano }, text)
  }
  for (const [text, message] of notAmounts) {
    t.match(await run('credits', 'add', 'a', text), { code: 2, out: '', err: message }, text)
  }
})

onEachEngine('credits are added, adjusted and shown to the last decimal', async (t, { run, json }) => {
  t.match(await json('accounts', 'create', 'team', '--name', 'The team'), { object: 'account', id: 'team' })
  const added = await run('credits', 'add', 'team', '12.5', '--id', 'd1')
  t.same(added, {
    code: 0,
    out: 'Booked deposit d1: 12.50 from funding to team.\nThe balance of team is 12.50.\n',
    err: ''
  })
  t.match(await run('credits', 'add', 'team', '12.5', '--id', 'd1'), { code: 0, out: /^Already booked: deposit d1/ })
  const adjusted = await json('credits', 'adjust', 'team', '-0.000000001', '--reason', 'oops')
  t.match(adjusted, { kind: 'adjust', amount_nano: 1 })
  const { out } = await run('accounts', 'list')
  t.equal(out, [
    'ID    NAME      PARENT       CREDITS  SPENT  HELD     AVAILABLE  STATE   LIMITS',
    'team  The team          12.499999999   0.00  0.00  12.499999999  active',
    ''
  ].join('\n'))
  t.match(await json('ledger', 'entries'), { data: [{ kind: 'adjust', reason: 'oops' }, { id: 'd1' }] })
})

onEachEngine('a key is created, changed, rotated and revoked', async (t, { run, json }) => {
  await run('accounts', 'create', 'default')
  const settings = ['--label', 'app', '--models', 'gpt-*, o3', '--budget', '5', '--period', 'day']
  const created = await run('keys', 'create', ...settings)
  t.match(created, { code: 0, out: /^sk-tg-\w+-\w+\n$/ })
  const [listed] = (await json('keys', 'list')).data
  t.match(listed, { label: 'app', models: ['gpt-*', 'o3'], budget: { amount_usd: 5, period: 'day' }, role: 'user' })
  t.match(await json('keys', 'update', listed.id, '--no-models', '--no-budget', '--expires', '2100-01-01'), {
    label: 'app', models: null, budget: null, expires_at: '2100-01-01T00:00:00.000Z'
  })
  const rates = await json('keys', 'update', listed.id, '--rpm', '60', '--concurrent', '4')
  t.same(rates.limits, { requests_per_minute: 60, tokens_per_minute: null, concurrent_requests: 4 })
  t.same((await json('keys', 'update', listed.id, '--no-rpm')).limits, { ...rates.limits, requests_per_minute: null })
  t.match(await json('accounts', 'update', 'default', '--tpm', '1000'), { limits: { tokens_per_minute: 1000 } })
  t.match(await json('keys', 'rotate', listed.id, '--grace', '30m'), { id: listed.id, key: /^sk-tg-/ })
  t.match(await run('keys', 'list'), { out: /active until 2100-01-01/ })
  t.match(await json('keys', 'revoke', listed.id), { revoked_at: String })
  t.match(await run('keys', 'list'), { out: /revoked 20/ })
  t.match(await json('keys', 'create', '--role', 'owner'), { role: 'owner' })
})

onEachEngine('a check of an inconsistent ledger exits with 1', async (t, { url, run }) => {
  await run('accounts', 'create', 'a')
  await run('credits', 'add', 'a', '1')
  t.same(await run('ledger', 'check'), { code: 0, out: 'The books add up.\n', err: '' })
  const store = await openStore(url)
  await store.run('update account set credits = credits + 1 where id = $1', ['a'])
  await store.close()
  const { code, out } = await run('ledger', 'check')
  t.equal(code, 1)
  t.match(out, /^RULE +SUBJECT +EXPECTED +FOUND\n.* a +1000000000 +1000000001\n/)
  t.match(out, /\ncredits are the movements of entries\n {2}The account has other credits .*tollgate credits adjust/)
  const asJson = await run('ledger', 'check', '--json')
  t.equal(asJson.code, 1)
  t.match(JSON.parse(asJson.out), { ok: false, violations: [{ subject: 'a' }] })
})

onEachEngine('amounts in suspense are listed, cleared and written off', async (t, { url, run, json }) => {
  await run('accounts', 'create', 'team')
  await run('credits', 'add', 'team', '1')
  const store = await openStore(url)
  await store.run("insert into chain (id, account) values ('team', 'team')")
  for (const number of [1, 2]) {
    await store.run(`
      insert into entry (idempotency_key, at, debit, credit, amount, kind, ref, model, api_key, chain, reason)
      values ($1, 0, 'suspense', 'revenue', 250000000, 'suspense', $1, 'chat', 'k', 'team', 'over_hold')`, [`req-${number}`])
  }
  await store.close()
  t.match(await run('ledger', 'suspense', 'list', '--state', 'open'),
    { code: 0, out: /^AT +ID +STATE +REASON +ACCOUNT +AMOUNT .*\n.* entry_\d+ +open +over_hold +team +0\.25 +chat +req-2/ })
  const [second, first] = (await json('ledger', 'suspense', 'list', '--account', 'team')).data
  t.match(await run('ledger', 'suspense', 'clear', first.id), { code: 2, err: /--reason/ })
  const clear = ['ledger', 'suspense', 'clear', first.id, '--reason', 'it was right']
  t.match(await run(...clear), { code: 0, out: `Cleared: ${first.id}, 0.25 of the account team.\n` })
  t.match(await run(...clear), { code: 0, out: /^Cleared before: / })
  t.match(await json('ledger', 'suspense', 'write-off', second.id, '--reason', 'a wrong number'), { state: 'written_off' })
  t.match(await run('ledger', 'suspense', 'write-off', first.id, '--reason', 'x'), { code: 1, err: /was cleared before/ })
  t.match(await json('accounts', 'list'), { data: [{ id: 'team', spent_usd: 0.25 }] })
  t.equal((await run('ledger', 'check')).code, 0)
})

t.test('an empty usage report is a header, as a table and as CSV', async t => {
  const { run, json } = await createCommandLine(t)
  t.match(await run('usage', '--by', 'day,model'), { out: /^MODEL +DAY +REQUESTS .* COST USD +MARGIN USD\n$/ })
  t.match(await run('usage', '--csv'), { code: 0, out: /^key,model,day,requests,.*,cost_usd,saved_usd,provider_cost_usd,margin_usd\r\n$/ })
  t.match(await json('usage'), { object: 'list', data: [] })
})

t.test('an unfinished list says how to continue', async t => {
  const { run, json } = await createCommandLine(t)
  for (const id of ['a', 'b', 'c']) await run('accounts', 'create', id)
  const { out, err } = await run('accounts', 'list', '--limit', '2')
  t.equal(out.split('\n').length, 4)
  const [, after = ''] = /--after (\S+)/.exec(err) ?? []
  t.match(await json('accounts', 'list', '--after', after), { data: [{ id: 'c' }], has_more: false })
})

t.test('a refused command exits with 1 and prints one line', async t => {
  const { run } = await createCommandLine(t)
  await run('accounts', 'create', 'a')
  const refused = [
    ['credits', 'add', 'nobody', '1'], ['credits', 'add', 'a', '0'], ['credits', 'adjust', 'a', '-1', '--reason', 'x'],
    ['credits', 'add', 'a', '1', '--id', 'entry_1'], ['credits', 'refund', 'a', 'nothing'],
    ['accounts', 'create', 'not an id'], ['keys', 'create', '--account', 'nobody'], ['keys', 'revoke', 'nobody'],
    ['keys', 'create', '--account', 'a', '--models', '']
  ]
  for (const args of refused) {
    t.match(await run(...args), { code: 1, out: '', err: /^tollgate: [^\n]+\n$/ }, args.join(' '))
  }
})

t.test('an invalid command exits with 2 and prints one line', async t => {
  const { run } = await createCommandLine(t)
  const wrong = [
    ['nonsense'], ['keys', 'lst'], ['keys', 'list', '--jsn'], ['keys', 'revoke'], ['keys', 'revoke', 'a', 'b'],
    ['credits', 'add', 'a', 'ten'], ['credits', 'add', 'a', '0.0000000001'], ['credits', 'add', 'a', '1e9'],
    ['credits', 'adjust', 'a', '1'], ['usage', '--by', 'color'], ['usage', '--from', 'yesterday'],
    ['keys', 'create', '--expires', '2026-02-30'], ['keys', 'create', '--period', 'day'],
    ['keys', 'create', '--budget', '5', '--period', 'year'], ['keys', 'rotate', 'a', '--grace', 'soon'],
    ['keys', 'list', '--limit', '0'], ['keys', 'list', '--limit', '1001'], ['usage', '--csv', '--json'],
    ['usage', '--csv', '--limit', '5'], ['route', 'explain']
  ]
  for (const args of wrong) {
    t.match(await run(...args), { code: 2, out: '', err: /^tollgate: [^\n]+\n$/ }, args.join(' '))
  }
})

t.test('an unavailable database exits with 3, and a wrong address is reported without its password', async t => {
  const folder = await temporaryFolder(t)
  t.match(await runAt(`sqlite:${folder}`, ['keys', 'list']), { code: 3, out: '', err: /^tollgate: The database file [^\n]+ cannot be used: [^\n]+\(it is a folder\)\. Check DATABASE_URL\.\n$/ })
  const wrong = await runAt('mysql://user:secret@host', ['keys', 'list'])
  t.match(wrong, { code: 1, out: '', err: /DATABASE_URL: must start with sqlite:/ })
  t.notMatch(wrong.err, 'secret')
})

t.test('a new database is reported once', async t => {
  const { run } = await createCommandLine(t, 'sqlite', createEmptyDatabase)
  t.match(await run('keys', 'list'), { code: 0, err: /^tollgate: created a new database at [^\n]+; set DATABASE_URL to use another one\n$/ })
  t.match(await run('keys', 'list'), { code: 0, err: '' })
})

t.test('help is printed for the program and for each command', async t => {
  const { run } = await createCommandLine(t)
  t.match(await run('--help'), { code: 0, out: /serve[^]*keys[^]*accounts[^]*credits[^]*usage[^]*ledger/, err: '' })
  t.match(await run('keys', 'create', '--help'), { code: 0, out: /--models <globs>/ })
})

t.test('serve starts the gateway', async t => {
  const { run, starts } = await createCommandLine(t)
  t.match(await run('serve'), { code: 0, out: '', err: '' })
  t.equal(starts(), 1)
})

t.test('messages say what was expected', async t => {
  const { run } = await createCommandLine(t)
  await run('accounts', 'create', 'a')
  const messages: [RegExp, string[]][] = [
    [/argument '0' is invalid\. Expected an integer from 1 to 1000\.$/, ['keys', 'list', '--limit', '0']],
    [/Expected an integer from 1 to 1000000000\.$/, ['keys', 'create', '--rpm', '0']],
    [/Expected an amount in US dollars such as 12\.50 or 1,250\.00, got 'ten'\.$/, ['credits', 'add', 'a', 'ten']],
    [/got '12,50': write 12\.50\.$/, ['credits', 'add', 'a', '12,50']],
    [/Expected at most 9 decimals, got 0\.0000000001\.$/, ['credits', 'add', 'a', '0.0000000001']],
    [/Expected a date such as 2026-11-21 or a time .*, got 'yesterday'\.$/, ['usage', '--from', 'yesterday']],
    [/Expected a duration such as 30m, 24h, 7d or 0\.$/, ['keys', 'rotate', 'a', '--grace', 'soon']],
    [/--period requires --budget$/, ['keys', 'create', '--period', 'day']],
    [/give a text or --body$/, ['route', 'explain']],
    [/The account `b` does not exist/, ['credits', 'add', 'b', '1']]
  ]
  for (const [message, args] of messages) t.match((await run(...args)).err.trim(), message, args.join(' '))
})

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`a command refuses a database of an older version, until \`migrate\` has migrated it (${engine})`, async t => {
    const { url, run } = await createCommandLine(t, engine, createEmptyDatabase)
    const account = "insert into account (id, name, currency, created_at) values ('a', 'A', 'usd', 0);"
    await makeOlderDatabase({ engine, url }, 'usage-days', account)
    for (let times = 0; times < 2; times++) {
      t.match(await run('accounts', 'list'), {
        code: 1, out: '', err: /^tollgate: [^\n]*older version[^\n]* 6 usage-days[^\n]*`npx tollgate migrate`[^\n]*\n$/
      })
    }
    t.match(await run('migrate'), { code: 0, out: /^Applied usage-days/, err: '' })
    t.match(await run('accounts', 'list'), { code: 0, out: /\na +A/, err: '' })
  })
}

onEachEngine('`migrate` makes the tables of an empty database, and changes nothing later', async (t, { run, json }) => {
  t.match(await run('migrate'), { code: 0, out: /^Applied accounts-and-keys, ledger, .*\.\n$/, err: '' })
  t.same(await run('migrate'), { code: 0, out: 'The database is up to date.\n', err: '' })
  t.same(await json('migrate'), { object: 'migrations', applied: [] })
  t.match(await run('accounts', 'create', 'a'), { code: 0 })
}, createEmptyDatabase)

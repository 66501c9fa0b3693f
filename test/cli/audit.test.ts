import { userInfo } from 'node:os'
import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import t from 'tap'
import { createProgram } from '../../cli/program.ts'
import { openStore } from '../../services/store/open.ts'
import { insertJob } from '../routes/admin/rows.ts'
import { createCommandLine } from './helper.ts'

/** Commands that change nothing and show no secret. */
const readers = [
  'serve', 'sandbox', 'keys list', 'accounts list', 'usage', 'ledger check', 'ledger entries', 'ledger holds',
  'ledger suspense list', 'audit',
  'books statements', 'books balance', 'alerts', 'jobs list', 'jobs show', 'requests list',
  'requests show', 'media', 'providers',
  'route explain', 'migrate'
]

const catalogue = new URL('../../services/config/catalogue/models.json', import.meta.url).pathname

interface Scene { key: string, entry: string, suspense: string[], job: string }

/** The arguments of a command that changes something or shows a secret, for every command that can. */
const changes: Record<string, (scene: Scene) => string[]> = {
  'keys create': () => ['--account', 'a'],
  'keys update': ({ key }) => [key, '--label', 'changed'],
  'keys rotate': ({ key }) => [key],
  'keys revoke': ({ key }) => [key],
  'accounts create': () => ['b'],
  'accounts update': () => ['a', '--rpm', '5'],
  'catalogue update': () => ['--from', catalogue],
  'catalogue undo': () => [],
  'credits add': () => ['a', '1'],
  'accounts freeze': () => ['b', '--reason', 'r'],
  'accounts unfreeze': () => ['b'],
  'accounts close': () => ['b'],
  'accounts webhook-secret': () => ['a'],
  'accounts rotate-webhook-secret': () => ['a'],
  'credits refund': ({ entry }) => ['a', entry],
  'credits adjust': () => ['a', '1', '--reason', 'r'],
  'ledger suspense clear': ({ suspense: [first = ''] }) => [first, '--reason', 'r'],
  'ledger suspense write-off': ({ suspense: [, second = ''] }) => [second, '--reason', 'r'],
  'credits withdraw': () => ['a', '0.5', '--reason', 'r'],
  'credits transfer': () => ['a', 'default', 'all'],
  'jobs cancel': ({ job }) => [job],
}

function leavesOf (command: Command, name = ''): string[] {
  if (command.commands.length === 0) return [name]
  return command.commands.flatMap(child => leavesOf(child, `${name} ${child.name()}`.trim()))
}

t.test('every command that changes something or shows a secret leaves a line in the audit log', async t => {
  const { url, run, json } = await createCommandLine(t, 'postgres')
  const terminal = { stdout: new PassThrough(), stderr: new PassThrough(), env: {}, serve: async () => {} }
  const commands = leavesOf(createProgram(terminal, { exitCode: 0 }))
  t.same(commands.sort(), [...readers, ...Object.keys(changes)].sort(), 'each command stands in one of the two lists')

  await run('accounts', 'create', 'a')
  await run('accounts', 'create', 'default')
  const { id: key } = await json('keys', 'create', '--account', 'a')
  const store = await openStore(url)
  await store.run("insert into chain (id, account) values ('a', 'a')")
  await store.run(`insert into entry (at, debit, credit, amount, kind, chain)
    values (0, 'a', 'revenue', 5, 'usage', 'a')`)
  await store.run(`insert into entry (idempotency_key, at, debit, credit, amount, kind, chain)
    values ('s1', 0, 'suspense', 'revenue', 5, 'suspense', 'a'), ('s2', 0, 'suspense', 'revenue', 5, 'suspense', 'a')`)
  await store.run("update account set spent = 5, credits = 5 where id = 'a'")
  const scene = { key, entry: 'entry_1', suspense: ['entry_2', 'entry_3'], job: await insertJob(store, key) }
  await store.close()

  const actor = `cli:${userInfo().username}`
  for (const [command, argsOf] of Object.entries(changes)) {
    const newest = async () => (await json('audit', '--limit', '1')).data[0]
    const before = await newest()
    const { code, err } = await run(...command.split(' '), ...argsOf(scene))
    t.equal(code, 0, `${command}: ${err}`)
    const event = await newest()
    t.not(event.id, before.id, `${command} leaves a line`)
    t.match(event, { actor, actor_label: null })
  }
  t.match(await run('audit', '--target', `key:${key}`, '--action', 'key.update'), {
    code: 0, out: /ACTOR +ACTION +TARGET +BEFORE +AFTER\n\S+Z +cli:\S+ +key\.update +key:\S+ +\{"label":""\} +\{"label":"changed"\}\n$/
  })
})

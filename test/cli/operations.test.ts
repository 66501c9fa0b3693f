import { PassThrough } from 'node:stream'
import { Type } from '@sinclair/typebox'
import { Command } from 'commander'
import t from 'tap'
import { addOperations } from '../../cli/operations.ts'
import { createSession } from '../../cli/session.ts'
import { Nullable, StringEnum } from '../../schemas/shared/combinators.ts'
import { operation, option } from '../../services/operations/admin/operation.ts'
import { createCommandLine } from './helper.ts'

const Thing = Type.Object({
  note: Type.Optional(Nullable(Type.String({ description: 'A note for operators.' }))),
  max_size: Type.Optional(Type.Integer({ description: 'The largest size.' })),
  is_hidden: Type.Optional(Type.Boolean({ description: 'Whether lists omit it.' })),
  color: Type.Optional(StringEnum(['red', 'blue'])),
  secret: Type.Optional(Type.String())
})

/** Runs `things update` and returns what its operation was given. */
async function runUpdate (url: string, ...args: string[]): Promise<unknown> {
  let found: unknown
  const update = operation('PATCH /things/:id', 'operate', {
    summary: 'Change a thing',
    body: Thing,
    result: Type.String(),
    async run (_administration, { id, body }) {
      found = { id, body }
      return id
    },
    command: {
      name: 'things update <id>',
      description: 'change a thing',
      options: { color: option('--color <color>', 'its color') },
      text: id => id
    }
  })
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
  const terminal = { ...streams, env: { DATABASE_URL: url }, serve: async () => {} }
  const session = createSession(terminal, { exitCode: 0 })
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} })
  program.command('things').exitOverride()
  addOperations(program, session, [update])
  await program.parseAsync(['things', 'update', ...args], { from: 'user' })
  return found
}

t.test('a field with a plain type and a description has an option without a row of its own', async t => {
  const { url, run } = await createCommandLine(t)
  await run('migrate')
  t.same(await runUpdate(url, 'a', '--note', 'hi', '--max-size', '5', '--is-hidden', '--color', 'red'),
    { id: 'a', body: { note: 'hi', max_size: 5, is_hidden: true, color: 'red' } })
  t.same(await runUpdate(url, 'a', '--no-note'), { id: 'a', body: { note: null } }, 'null where the schema allows it')
  t.same(await runUpdate(url, 'a'), { id: 'a', body: {} }, 'absent options are absent fields')
  await t.rejects(runUpdate(url, 'a', '--max-size', 'many'), { code: 'commander.invalidArgument' })
  await t.rejects(runUpdate(url, 'a', '--color', 'green'), { code: 'commander.invalidArgument' })
  await t.rejects(runUpdate(url, 'a', '--secret', 'x'), { code: 'commander.unknownOption' })
})

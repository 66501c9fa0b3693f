import { join } from 'node:path'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import fc from 'fast-check'
import t from 'tap'
import { compileSchemas, useCompilers } from '../../bin/compile-schemas.ts'
import { compilers } from '../../fastify.config.ts'
import { compileOnce } from '../../services/http/compile-once.ts'
import { findCompiled, type Compiled, type Use } from '../../services/http/compiled-schemas.ts'
import { ownSchemas } from '../../services/http/serializer.ts'
import { broken, valid } from '../fuzz/arbitrary.ts'

const seed = Date.now() % 1_000_000
const valuesEach = 5

/** A schema that a gateway asks its compilers for, and what they make of it when it is first called. */
interface Asked { use: Use, schema: object, options: unknown, compiled: Compiled }

/** All that a gateway asks for, each schema once. */
async function askedFor (): Promise<Asked[]> {
  const asked = new Map<string, Asked>()
  type Builder = (shared: never, options: never) => unknown
  const noting = <Build extends Builder>(use: Use, build: Build): Build => {
    const noted = (shared: object, options: unknown) => {
      const compile = build(shared as never, options as never) as (part: object) => Compiled
      return (part: { schema: object }) => {
        const compiled = compile(part)
        asked.set(`${use} ${JSON.stringify(part.schema)}`, { use, schema: part.schema, options, compiled })
        return compiled
      }
    }
    return noted as unknown as Build
  }
  await useCompilers({
    buildValidator: noting('validator', compilers.buildValidator),
    buildSerializer: noting('serializer', compilers.buildSerializer)
  })
  return [...asked.values()]
}

/** What a validator or serializer makes of a value, or the message of its error. */
function outcome (compiled: Compiled, value: unknown): unknown {
  try {
    const result = compiled(value)
    return JSON.stringify([result, result === false ? compiled.errors : null])
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

t.test(`what is compiled ahead of time does what Fastify compiles at its first use (seed ${seed})`, async t => {
  const folder = join(t.testdir(), 'schemas')
  const modules = await compileSchemas(folder)
  t.ok(modules.some(file => /\bajv.dist.compile.index\.js$/.test(file)), 'the modules of Ajv are named')

  const asked = await askedFor()
  t.ok(asked.filter(({ use }) => use === 'validator').length > 50)
  t.ok(asked.filter(({ use }) => use === 'serializer').length > 50)
  let refused = 0
  for (const { use, schema, options, compiled } of asked) {
    const ahead = findCompiled(use, schema, options, folder)
    if (ahead === null) {
      t.fail(`a ${use} is missing`, { schema })
      continue
    }
    const values = [valid, broken].flatMap(kind => fc.sample(kind(schema), { numRuns: valuesEach, seed }))
    for (const value of [undefined, null, ...values]) {
      const expected = outcome(compiled, value)
      if (use === 'validator' && String(expected).startsWith('[false')) refused++
      if (outcome(ahead, value) !== expected) t.equal(outcome(ahead, value), expected, `${use}`, { schema, value })
    }
  }
  t.ok(refused > 200, `${refused} values are refused`)
  for (const schema of ownSchemas) t.ok(findCompiled('serializer', schema, undefined, folder))
})

t.test('a schema is looked up with the options of its compiler', async t => {
  const folder = t.testdir({})
  t.equal(findCompiled('validator', { type: 'null' }, {}, folder), null)
  t.equal(findCompiled('validator', { type: 'null' }, {}, null), null, 'the sources have none')

  let loaded = 0
  const load = (): BuildCompilerFromPool => {
    loaded++
    return (() => () => () => true) as unknown as BuildCompilerFromPool
  }
  const part = (type: string) => ({ schema: { type }, method: 'GET', url: '/', httpPart: 'body' }) as never
  const found: Compiled = () => false
  const compile = compileOnce(load, schema => JSON.stringify(schema) === '{"type":"null"}' ? found : null)({})
  t.equal(compile(part('null'))(1), false)
  t.equal(loaded, 0, 'the compiler is not loaded for what is found')
  t.equal(compile(part('string'))(1), true)
  t.equal(loaded, 1)
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inFolder, installed, runProgram } from '../agents/agent.ts'
import { addressOf, spawnGateway } from '../helpers/process.ts'

// Programs from the registry read the OpenAPI document of a running gateway: two linters, and a generator
// of a client, which is compiled and calls the gateway. With 270 packages they are no dependencies.

const packages = [
  '@redocly/cli@2.77.0', '@stoplight/spectral-cli@6.16.3', 'openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'
]
const root = join(import.meta.dirname, '..', '..')

/** A program that uses the generated types; what does not fit them does not compile. */
const client = (url: string, key: string) => `
import createClient from 'openapi-fetch'
import type { components, paths } from './types.js'

const gateway = createClient<paths>({ baseUrl: '${url}', headers: { authorization: 'Bearer ${key}' } })
const message: components['schemas']['UserMessage'] = { role: 'user', content: 'Hello' }
const { data, error } = await gateway.POST('/v1/chat/completions', { body: { model: 'sandbox-chat', messages: [message] } })
if (error !== undefined) throw new Error(error.error.message)
const content: string | null | undefined = typeof data === 'object' && 'choices' in data ? data.choices[0]?.message.content : null
const models = await gateway.GET('/v1/models')
const refused = await gateway.GET('/v1/models/{id}', { params: { path: { id: 'none' } } })
// @ts-expect-error A prompt is no message.
const wrong: components['schemas']['UserMessage'] = { role: 'user', prompt: 'Hello' }
console.log(JSON.stringify({ content, models: models.response.status, refused: refused.error?.error.code, wrong: wrong.role }))
`

const work: (() => unknown)[] = []
try {
  await inFolder('openapi', async folder => {
    if (!await installed(folder, ...packages)) return
    const gateway = await spawnGateway({ teardown: one => { work.push(one) } })
    const { url, key } = await addressOf(gateway)
    const origin = new URL(url).origin
    const document = join(folder, 'openapi.json')
    await writeFile(document, await (await fetch(`${origin}/openapi.json`)).text())
    await writeFile(join(folder, 'client.ts'), client(origin, key))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')

    const run = async (name: string, program: string, ...args: string[]) => {
      const command = join(folder, 'node_modules', '.bin', program)
      const { code, output } = await runProgram(command, args, { cwd: folder, env: { ...process.env, REDOCLY_TELEMETRY: 'off' } })
      if (code !== 0 || /\b[1-9]\d* (?:warning|problem)|have 1 warning/.test(output)) throw new Error(`${name} (${code}):\n${output}`)
      process.stdout.write(`${name}: no complaint\n`)
      return output
    }
    await run('Redocly', 'redocly', 'lint', document, '--config', join(root, 'redocly.yaml'))
    await run('Spectral', 'spectral', 'lint', document, '--ruleset', join(root, '.spectral.yaml'), '--fail-severity', 'hint')
    await run('openapi-typescript', 'openapi-typescript', document, '--output', join(folder, 'types.d.ts'))
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom', '--skipLibCheck']
    await run('The generated client compiles', 'tsc', ...options, join(folder, 'client.ts'))
    const { code, output } = await runProgram(process.execPath, [join(folder, 'client.js')], { cwd: folder, env: process.env })
    const { content, models, refused } = JSON.parse(output) as Record<string, unknown>
    if (code !== 0 || typeof content !== 'string' || models !== 200 || refused !== 'model_not_found') {
      throw new Error(`The generated client (${code}):\n${output}`)
    }
    process.stdout.write('The generated client calls the gateway\n')
  })
} finally {
  for (const one of work) await one()
}

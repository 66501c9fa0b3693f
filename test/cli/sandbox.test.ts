import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'

const program = join(import.meta.dirname, '..', '..', 'bin', 'tollgate.ts')

t.test('tollgate sandbox serves a script, with the prices of the vendor, on a free port', async t => {
  const cwd = t.testdir({
    'script.yaml': `models:
      gpt-4o:
        - error: { status: 503, retry_after_ms: 10 }
        - text: 18 °C
          usage: { prompt: 90, completion: 5 }
    `
  })
  const child = spawn(process.execPath, [program, 'sandbox', '--script', 'script.yaml'], { cwd })
  t.teardown(() => child.kill())
  let output = ''
  for await (const piece of child.stdout) {
    output += String(piece)
    if (/sk-tg-\S+/.test(output) && /http:\S+\/v1/.test(output)) break
  }
  const baseURL = /http:\S+\/v1/.exec(output)?.[0] ?? ''
  const client = new OpenAI({ baseURL, apiKey: /sk-tg-\S+/.exec(output)?.[0] ?? '', maxRetries: 0 })
  const ask = () => client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] })
  t.match(await ask(), { choices: [{ message: { content: '18 °C' } }], usage: { prompt_tokens: 90 } })
  t.match(await ask().catch(error => error), { status: 400, code: 'unscripted_call' })
})

t.test('a script that is none is refused with its problem', async t => {
  const cwd = t.testdir()
  writeFileSync(join(cwd, 'script.yaml'), 'models: { gpt-4o: [{ txt: Hi }] }')
  const child = spawn(process.execPath, [program, 'sandbox', '--script', 'script.yaml'], { cwd })
  const texts = [child.stdout, child.stderr].map(async stream => String(await stream.toArray()))
  t.match((await Promise.all(texts)).join(''), /script\.yaml is no script: .*txt/)
})

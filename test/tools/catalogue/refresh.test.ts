import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')
const fixture = join(root, 'test/fixtures/catalogue/models-dev.json')

interface Refreshed { text: string, said: string }

/** Runs the script; returns the file it writes and what it says. */
async function refresh (t: { testdir (): string }, source: string): Promise<Refreshed> {
  const output = join(t.testdir(), 'models.json')
  const report = join(t.testdir(), 'report.txt')
  const args = ['tools/catalogue/refresh.ts', source, '--output', output, '--report', report, '--no-packages']
  const { stdout } = await run(process.execPath, args, { cwd: root })
  return { text: readFileSync(output, 'utf8'), said: stdout }
}

t.test('a file is converted to the catalogue, and omitted prices are reported', async t => {
  const { text, said } = await refresh(t, fixture)
  t.match(JSON.parse(text), {
    source: 'https://models.dev',
    license: /MIT/,
    date: '2026-07-02',
    providers: { deepseek: { 'deepseek-v4-pro': { price: { cacheReadPico: 3625 } } }, gemini: { 'gemini-2.5-flash': {} } }
  })
  t.notOk('vercel' in JSON.parse(text).providers, 'known providers only')
  t.match(said, 'cerebras: no data')
  t.match(said, 'perplexity/sonar-deep-research: price omitted')
  t.match(said, /\d+ models of \d+ providers\n$/)
})

t.test('a URL works too, and a failed download leaves the file unchanged', async t => {
  const server = createServer((request, response) => {
    if (request.url === '/api.json') return response.end(readFileSync(fixture))
    response.writeHead(500).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const { text } = await refresh(t, `${url}/api.json`)
  t.equal(text, (await refresh(t, fixture)).text)
  await t.rejects(refresh(t, `${url}/other`), /other answered 500/)
})

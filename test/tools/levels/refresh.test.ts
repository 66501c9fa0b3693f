import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { publishedLevel, type LevelsFile } from '../../../services/routing/scoring/published-levels.ts'
import { domains } from '../../../services/routing/scoring/weights.ts'
import { benchmarks, repositories } from '../../../tools/levels/sources.ts'
import { writeRepositories } from './repositories.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')

async function refresh (source: string, output: string): Promise<string> {
  const { stdout } = await run(process.execPath,
    ['tools/levels/refresh.ts', source, '--date', '2026-05-06', '--output', output], { cwd: root })
  return stdout
}

const read = (file: string): LevelsFile => JSON.parse(readFileSync(file, 'utf8'))

t.test('a folder of repositories becomes the table: a level in each domain, with source, licence and date', async t => {
  const folder = t.testdir()
  writeRepositories(folder)
  const output = join(folder, 'levels.json')
  t.match(await refresh(folder, output), /levels\.json: \d+ models\n$/)
  const table = read(output)
  t.equal(table.updated, '2026-05-06')
  t.same(Object.keys(table.sources), Object.keys(benchmarks))
  for (const { licence, url } of Object.values(table.sources)) {
    t.ok(repositories.some(one => url === `https://github.com/${one.name}` && licence === one.licence), url)
  }
  const levels = table.models['new-1'] ?? {}
  t.same(Object.keys(levels).toSorted(), domains.toSorted())
  t.match(levels, {
    code: { share: 0.8, source: 'aider-polyglot', date: '2026-01-02' },
    tools: { share: 0.8, source: 'tau2-service', date: '2026-02-03' },
    math: { share: 0.8, source: 'simple-evals-math', date: '2026-03-10' },
    multilingual: { share: 0.8, source: 'simple-evals-mmmlu', date: '2026-03-10' },
    extraction: { share: 0.8, source: 'summaries', date: '2026-03-10' },
    chat: { share: 0.8, source: 'wildbench' },
    long_context: { share: 0.8, source: 'ruler' }
  })
  t.notOk('new-1-high' in table.models, 'another effort is another result')
  for (const domain of domains) {
    const [better, worse] = ['new-1', 'claude-3-haiku'].map(name => publishedLevel([name], domain, table)?.level ?? NaN)
    t.ok((better ?? NaN) > (worse ?? NaN), domain)
  }
})

t.test('a server of archives gives the same table, dated by the commits', async t => {
  const folder = t.testdir()
  writeRepositories(folder)
  const server = createServer((request, response) => {
    const name = request.url?.replace('/tar.gz/HEAD', '').slice(1) ?? ''
    response.end(execFileSync('tar', ['-cz', '--transform', 's,^\\.,top,', '-C', join(folder, name), '.']))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const [local, remote] = [join(folder, 'local.json'), join(folder, 'remote.json')]
  await refresh(folder, local)
  await refresh(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, remote)
  t.equal(readFileSync(remote, 'utf8'), readFileSync(local, 'utf8'))
})

t.test('a failed download, or a source whose form has changed, leaves the table as it was and names the source', async t => {
  const folder = t.testdir({ 'levels.json': 'as it was' })
  writeRepositories(folder)
  const output = join(folder, 'levels.json')
  const server = createServer((_, response) => response.writeHead(503).end())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  await t.rejects(refresh(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, output), /aider.* 503/)
  writeFileSync(join(folder, 'NVIDIA/RULER/README.md'), '|Models|Effective Length|\n|:-:|:-:|\n')
  await t.rejects(refresh(folder, output), /RULER.* 0 models/)
  t.equal(readFileSync(output, 'utf8'), 'as it was')
})

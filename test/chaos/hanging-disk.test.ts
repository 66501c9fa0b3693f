import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { spawnGateway, temporaryFolder } from '../helpers/process.ts'

/** Opening a pipe without a reader waits in the system, as a network folder that is away does. */
const hangingRename = (pipe: string): string => `
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
fs.rename = async () => { process.stdout.write('hanging\\n'); await fs.open(${JSON.stringify(pipe)}, 'w') }
syncBuiltinESMExports()`

t.test('a process whose disk hangs ends within its drain time', { skip: process.platform === 'win32' }, async t => {
  const folder = await temporaryFolder(t)
  const [pipe, preload] = [join(folder, 'pipe'), join(folder, 'preload.mjs')]
  await promisify(execFile)('mkfifo', [pipe])
  await writeFile(preload, hangingRename(pipe))
  const { child, printed, output, exited } = await spawnGateway(t, { TOLLGATE_DRAIN_SECONDS: '1' }, { preload })
  const [url = ''] = await printed(/http:\/\/[\d.]+:\d+/)
  const [key = ''] = await printed(/sk-[\w-]+/)
  const asked = fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-image', prompt: 'a fox' })
  }).then(({ status }) => status, () => 0)
  await printed(/hanging/)
  const startMs = performance.now()
  child.kill('SIGTERM')
  await exited
  t.ok(performance.now() - startMs < 15_000)
  t.not(await asked, 200)
  t.match(output(), 'the process is killed')
})

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

t.test('the node of a video is killed: one order, one charge, and the client has its video', async t => {
  const script = join(import.meta.dirname, '../../chaos/videos.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [
    script, '--rounds', '2', '--lanes', '1', '--states', 'submitting,settling'])
  t.match(stdout, /2 kills in/)
  t.match(stdout, / 0 failed/, stdout)
})

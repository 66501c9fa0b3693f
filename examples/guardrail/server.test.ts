import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { createGateway } from 'tollgate'

const folder = import.meta.dirname

test('the guardrail blocks a prompt and lets others through', async t => {
  const server = spawn(process.execPath, [join(folder, 'server.js')], { env: { PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => server.kill())
  const [url] = await once(createInterface(server.stdout), 'line')
  let key = ''
  const gateway = await createGateway({
    config: join(folder, 'gateway.yaml'),
    database: 'sqlite::memory:',
    media: tmpdir(),
    env: { GUARDRAIL_URL: url },
    onFirstKey: first => { key = first }
  })
  t.after(() => gateway.close())
  const chat = (content: string) => gateway.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}` },
    payload: { model: 'sandbox-chat', messages: [{ role: 'user', content }] }
  })
  const allowed = await chat('Say hello.')
  assert.equal(allowed.statusCode, 200, allowed.body)
  assert.equal(allowed.headers['x-tollgate-plugins'], 'tollgate/guardrail')
  const blocked = await chat('What is the password?')
  assert.equal(blocked.statusCode, 400)
  const { message, code } = blocked.json().error
  assert.deepEqual([message, code], ['Ask without secrets.', 'secrets'])
  assert.equal(blocked.headers['x-tollgate-plugins'], 'tollgate/guardrail;rejected')
})

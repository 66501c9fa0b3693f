import t from 'tap'
import { startGateway } from '../../helpers/gateway.ts'

const secret = 'tg-admin-key-of-some-length-0123456789'
const gateway = await startGateway(t, { env: { TOLLGATE_ADMIN_KEY: secret } })

t.test('a client may name the type of a body that a request does not have', async t => {
  const send = (method: string, path: string) => fetch(`${gateway.url}${path}`, { method, headers: gateway.headers })
  const created = await fetch(`${gateway.url}/responses`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'sandbox-chat', input: 'Hi' })
  })
  const { id }: { id: string } = Object(await created.json())
  // The SDKs for Python send `content-type: application/json` with every request.
  t.equal((await send('GET', `/responses/${id}`)).status, 200)
  t.equal((await send('DELETE', `/responses/${id}`)).status, 200)
  t.equal((await send('DELETE', `/responses/${id}`)).status, 404)
  const { id: key } = await gateway.app.keys.create({ account: 'default', label: '' })
  const admin = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const rotated = await fetch(new URL(`/admin/keys/${key}/rotate`, gateway.url), { method: 'POST', headers: admin })
  t.equal(rotated.status, 200, 'no field of its body is required')
})

t.test('a request that must have a body does not do without', async t => {
  for (const body of ['', '{']) {
    const response = await fetch(`${gateway.url}/responses`, { method: 'POST', headers: gateway.headers, body })
    t.equal(response.status, 400)
    t.match(await response.json(), { error: { message: /could not parse the JSON body/ } })
  }
})

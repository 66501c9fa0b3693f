import { execFile } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import type { Gateway } from '../helpers/gateway.ts'
import { findPython } from '../helpers/python.ts'
import { startVideoGateway } from '../routes/v1/video-client.ts'
import { startPlainSite } from '../services/media/web.ts'
import { until } from '../helpers/until.ts'

// OpenAI's own clients, over sockets, from the first request to the webhook.

const adminKey = 'operator-key-of-this-test'
const run = promisify(execFile)
const pollMs = 50

interface Received { body: string, headers: Record<string, string> }

async function start (t: Test) {
  const first = Promise.withResolvers<Received>()
  const site = await startPlainSite(t, async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    first.resolve({ body: await text(request), headers: Object.fromEntries(headers) })
    response.end()
  })
  const origin = `http://127.0.0.1:${site.port}`
  const env = { TOLLGATE_WEBHOOK_ORIGINS: origin, TOLLGATE_ADMIN_KEY: adminKey }
  const gateway = await startVideoGateway(t, env)
  const answer = await fetch(`${new URL(gateway.url).origin}/admin/accounts/default/webhook-secret`, {
    headers: { authorization: `Bearer ${adminKey}` }
  })
  const { secret } = await answer.json() as { secret: string }
  return { gateway, secret, hook: `${origin}/hook`, told: first.promise }
}

async function checkBooks (t: Test, { app }: Gateway, videos: number): Promise<void> {
  await app.ledger.flush()
  t.match(await app.store.all("select count(*) as n from entry where kind = 'usage'"), [{ n: videos }])
  t.match(await app.ledger.balance('default'), { heldNano: 0 })
  t.strictSame(await checkLedger(app.store), [])
}

t.test('openai-node makes, finds, lists, fetches and deletes videos, and reads their webhook', async t => {
  const { gateway, secret, hook, told } = await start(t)
  const { url: baseURL, key: apiKey } = gateway
  const client = new OpenAI({ baseURL, apiKey, webhookSecret: secret, maxRetries: 0 })
  const prompt = 'a red ball\nsandbox:delay 50'
  // The lengths and sizes of its types are those of one model.
  const more: object = { seconds: '2', size: '320x180', webhook_url: hook }
  const video = await client.videos.create({ model: 'sandbox-video', prompt, ...more })
  // Its encoder of forms writes CRLF.
  t.match(video, { object: 'video', status: 'queued', model: 'sandbox-video', prompt, seconds: '2', size: '320x180' })
  let latest = video
  while (latest.status === 'queued' || latest.status === 'in_progress') {
    await sleep(pollMs)
    latest = await client.videos.retrieve(video.id)
  }
  t.match(latest, { id: video.id, status: 'completed', progress: 100, error: null })

  const { body, headers } = await told
  const event: unknown = await client.webhooks.unwrap(body, headers)
  t.match(event, { object: 'event', type: 'video.completed', data: { id: video.id } })

  const content = await client.videos.downloadContent(video.id)
  t.equal(content.headers.get('content-type'), 'video/mp4')
  t.equal(Buffer.from(await content.arrayBuffer()).toString('latin1', 4, 8), 'ftyp')
  const picture = new File([Buffer.from(png, 'base64')], 'first.png', { type: 'image/png' })
  const second = await client.videos.create({ model: 'sandbox-video', prompt: 'b\nsandbox:delay 0', input_reference: picture })
  const seen: string[] = []
  for await (const { id } of client.videos.list({ limit: 1, order: 'asc' })) seen.push(id)
  t.strictSame(seen, [video.id, second.id], 'page by page')
  await until(async () => (await client.videos.retrieve(second.id)).status === 'completed')
  t.strictSame({ ...await client.videos.delete(video.id) }, { id: video.id, object: 'video.deleted', deleted: true })
  await t.rejects(client.videos.retrieve(video.id), /^404 The video `job_\w+` does not exist/)
  await checkBooks(t, gateway, 2)
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const program = `
import json, os, sys
import openai

url, key, hook, secret = sys.argv[1:5]
client = openai.OpenAI(base_url=url, api_key=key, webhook_secret=secret, max_retries=0)
if len(sys.argv) > 5:
    message = json.loads(sys.argv[5])
    event = client.webhooks.unwrap(message['body'], message['headers'])
    try:
        client.webhooks.unwrap(message['body'] + ' ', message['headers'])
        forged = 'accepted'
    except openai.InvalidWebhookSignatureError:
        forged = 'refused'
    deleted = client.videos.delete(event.data.id)
    try:
        client.videos.retrieve(event.data.id)
        gone = False
    except openai.NotFoundError:
        gone = True
    print(json.dumps({'type': event.type, 'id': event.data.id, 'forged': forged, 'deleted': deleted.deleted, 'gone': gone}))
    sys.exit()
asked = dict(model='sandbox-video', prompt='a red ball\\nsandbox:delay 50', seconds='2', size='320x180', extra_body={'webhook_url': hook})
video = client.videos.create_and_poll(poll_interval_ms=50, **asked)
found = client.videos.retrieve(video.id)
content = client.videos.download_content(video.id).read()
second = client.videos.create(model='sandbox-video', prompt='b\\nsandbox:delay 0', input_reference=('first.png', bytes.fromhex(os.environ['PICTURE'])))
listed = [item.id for item in client.videos.list(limit=1, order='asc')]
client.videos.poll(second.id, poll_interval_ms=50)
print(json.dumps({
    'video': video.to_dict(), 'found': found.status, 'content': content[4:8].decode(), 'ids': [video.id, second.id], 'listed': listed
}))
`

const python = await findPython()
t.test('openai-python does the same', { skip: python === null && 'Python or its package is not there' }, async t => {
  const { gateway, secret, hook, told } = await start(t)
  const env = { ...process.env, PICTURE: Buffer.from(png, 'base64').toString('hex') }
  const call = async (...more: string[]) => {
    const { stdout } = await run(python ?? '', ['-c', program, gateway.url, gateway.key, hook, secret, ...more], { env })
    return JSON.parse(stdout)
  }
  const seen = await call()
  t.match(seen, {
    video: { object: 'video', status: 'completed', progress: 100, seconds: '2', size: '320x180' },
    found: 'completed',
    content: 'ftyp'
  })
  t.strictSame(seen.listed, seen.ids)
  const event = await call(JSON.stringify(await told))
  t.strictSame(event, { type: 'video.completed', id: seen.video.id, forged: 'refused', deleted: true, gone: true })
  await checkBooks(t, gateway, 2)
})

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { AzureOpenAI } from 'openai'
import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { findPython } from '../helpers/python.ts'
import { rejection } from '../helpers/thrown.ts'

interface Body { model: string, error: { message: string } }
const json = async (response: Response) => await response.json() as Body

const messages = [{ role: 'user' as const, content: 'Where is the fox?' }]
const apiVersion = '2024-10-21'

for (const [form, address] of [
  ['endpoint', (root: string) => ({ endpoint: root })],
  ['base URL', (root: string) => ({ baseURL: `${root}/v1` })]
] as const) {
  t.test(`Azure's client works with the gateway as its ${form}`, async t => {
    const { url, key } = await startGateway(t)
    const { origin } = new URL(url)
    const client = new AzureOpenAI({ ...address(origin), apiKey: key, apiVersion, maxRetries: 0 })

    const completion = await client.chat.completions.create({ model: 'sandbox-chat', messages })
    t.equal(completion.model, 'sandbox-chat')
    const stream = await client.chat.completions.create({ model: 'sandbox-chat', messages, stream: true })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    t.match(text, /fox/)
    const legacy = await client.completions.create({ model: 'sandbox-chat', prompt: 'A fox' })
    t.equal(legacy.model, 'sandbox-chat')
    const images = await client.images.generate({ model: 'sandbox-image', prompt: 'A fox' })
    t.ok(images.data?.[0]?.url)
    const response = await client.responses.create({ model: 'sandbox-chat', input: 'A fox' })
    t.equal(response.status, 'completed')
    const models = await client.models.list()
    t.ok(models.data.some(({ id }) => id === 'sandbox-chat'))
  })
}

const python = await findPython()
t.test('Azure\'s client for Python works', {
  skip: python === null && 'the SDK is not installed; the whole npm test installs it'
}, async t => {
  const { url, key } = await startGateway(t)
  const program = `
import sys
import openai
client = openai.AzureOpenAI(
    azure_endpoint=sys.argv[1], api_key=sys.argv[2], api_version='${apiVersion}', max_retries=0)
messages = [{'role': 'user', 'content': 'Where is the fox?'}]
print(client.chat.completions.create(model='sandbox-chat', messages=messages).model)
stream = client.chat.completions.create(model='sandbox-chat', messages=messages, stream=True)
print(len([chunk for chunk in stream]) > 1)
`
  const { stdout } = await promisify(execFile)(python ?? '', ['-c', program, new URL(url).origin, key])
  t.same(stdout.trim().split('\n'), ['sandbox-chat', 'True'])
})

t.test('the deployment in the path is the model, whatever the body names', async t => {
  const { url, headers } = await startGateway(t)
  const { origin } = new URL(url)
  for (const body of [{ messages }, { messages, model: 'gpt-4o' }, { messages, model: 'sandbox-chat' }]) {
    const path = `/openai/deployments/sandbox-chat/chat/completions?api-version=${apiVersion}`
    const response = await fetch(`${origin}${path}`, {
      method: 'POST', headers, body: JSON.stringify(body)
    })
    t.equal((await json(response)).model, 'sandbox-chat')
  }
  const named = await fetch(`${origin}/openai/deployments/auto%3Acost/chat/completions`, {
    method: 'POST', headers, body: JSON.stringify({ messages })
  })
  t.equal(named.status, 200)
  const unknown = await fetch(`${origin}/openai/deployments/a%26model%3Db/chat/completions?deployment=sandbox-chat`, {
    method: 'POST', headers, body: JSON.stringify({ messages })
  })
  t.equal(unknown.status, 404)
  t.match((await json(unknown)).error.message, 'a&model=b')
})

t.test('errors keep their shape, and two different keys are refused', async t => {
  const { url, key } = await startGateway(t)
  const endpoint = new URL(url).origin
  const wrong = new AzureOpenAI({ endpoint, apiKey: 'sk-none', apiVersion, maxRetries: 0 })
  const refusal = await rejection(wrong.chat.completions.create({ model: 'sandbox-chat', messages }))
  t.match(refusal, { status: 401 })
  const embeddings = new AzureOpenAI({ endpoint, apiKey: key, apiVersion, maxRetries: 0 })
  const unsupported = await rejection(embeddings.embeddings.create({ model: 'e', input: 'x' }))
  t.match(unsupported, { status: 404, code: 'unsupported_endpoint' })
  const two = await fetch(`${endpoint}/openai/deployments/sandbox-chat/chat/completions`, {
    method: 'POST',
    headers: { 'api-key': key, authorization: 'Bearer sk-other', 'content-type': 'application/json' },
    body: JSON.stringify({ messages })
  })
  t.equal(two.status, 401)
  t.match((await json(two)).error.message, 'api-key and Authorization')
})

import { costs } from '../../services/shared/json-bounds.ts'

/** A request of a key holder that costs more to read than to send. */
export interface Attack { name: string, path: string, body: () => string }

const chat = '/v1/chat/completions'
const largest = 30 * 1024 * 1024

function repeated (text: string, bytes: number): string {
  return text.repeat(Math.floor(bytes / Buffer.byteLength(text)))
}

const chatBody = (more: string, model = 'sandbox-chat'): string =>
  `{"model":"${model}","messages":[{"role":"user","content":"Hello"}],${more}}`

const messageBody = (content: string, model = 'sandbox-chat'): string =>
  `{"model":"${model}","messages":[{"role":"user","content":${JSON.stringify(content)}}]}`

const listOf = (item: string, bytes: number): string => `[${repeated(`${item},`, bytes - item.length)}${item}]`

const members = (count: number): string =>
  Array.from({ length: count }, (_, at) => `"p${at}":{"type":"string"}`).join()

const tool = '{"type":"function","function":{"name":"f"}}'

/** The attack list: each is a valid key's single request. */
export const attacks: readonly Attack[] = [
  ...[8, 32, 200].map(size => ({
    name: `addresses of pictures in a video's prompt, ${size} KB`,
    path: chat,
    body: () => messageBody(`${repeated('https://a.png?', size * 1000)}\nsandbox:delay 0`, 'sandbox-video')
  })),
  { name: 'marks in a video\'s prompt', path: chat, body: () => messageBody(repeated('https://', largest), 'sandbox-video') },
  { name: 'empty objects', path: chat, body: () => chatBody(`"x":${listOf('{}', largest)}`) },
  { name: 'a nest of lists', path: chat, body: () => chatBody(`"x":${'['.repeat(largest / 2)}${']'.repeat(largest / 2)}`) },
  {
    name: 'a nest of lists at the top',
    path: chat,
    body: () => `${'['.repeat(largest / 2)}${']'.repeat(largest / 2)}`
  },
  {
    name: 'a schema with many properties',
    path: chat,
    body: () => chatBody('"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":' +
      `{"type":"object","properties":{${members(400_000)}}}}}`)
  },
  { name: 'a prompt of tokens', path: '/v1/completions', body: () => `{"model":"sandbox-chat","prompt":${listOf('7', largest)}}` },
  {
    name: 'parts of a message in a decision',
    path: '/v1/routing/decisions',
    body: () => '{"model":"auto","messages":[{"role":"user","content":' +
      `${listOf('{"type":"text","text":"a"}', largest)}}]}`
  },
  { name: 'tools', path: chat, body: () => chatBody(`"tools":${listOf(tool, 400_000 * tool.length)}`) },
  {
    name: 'many answers with probabilities',
    path: chat,
    body: () => chatBody('"n":128,"logprobs":true,"top_logprobs":20,"max_tokens":2000')
  },
  {
    name: 'many long answers with probabilities',
    path: chat,
    body: () => `{"model":"sandbox-chat","n":128,"logprobs":true,"top_logprobs":20,"messages":[{"role":"user","content":"Repeat exactly: ${
      'word '.repeat(16_000)}"}]}`
  },
  {
    name: 'many long answers',
    path: chat,
    body: () => `{"model":"sandbox-chat","n":128,"messages":[{"role":"user","content":"Repeat exactly: ${'word '.repeat(16_000)}"}]}`
  },
  {
    name: 'messages',
    path: chat,
    body: () => `{"model":"sandbox-chat","messages":${listOf('{"role":"user","content":"a"}', 600_000 * 29)}}`
  },
  { name: 'words', path: chat, body: () => messageBody(repeated('some words of a text ', largest)) },
  { name: 'words for a decision', path: '/v1/routing/decisions', body: () => messageBody(repeated('some words of a text ', largest), 'auto') },
  { name: 'words for auto', path: chat, body: () => messageBody(repeated('some words of a text ', largest), 'auto') },
  { name: 'Chinese', path: chat, body: () => messageBody(repeated('天地玄黃宇宙洪荒', largest)) },
  { name: 'escapes', path: chat, body: () => messageBody(repeated('"\\\n', largest / 2)) },
  { name: 'halves of surrogate pairs', path: '/v1/messages', body: () => `{"model":"sandbox-chat","messages":[{"role":"user","content":"${repeated('\\ud83d', 2_900_000)}"}]}` },
  { name: 'backslashes', path: chat, body: () => `{"model":"sandbox-chat","x":"${repeated('\\\\', largest)}","messages":[{"role":"user","content":"a"}]}` },
  {
    name: 'members',
    path: chat,
    body: () => chatBody(Array.from({ length: 900_000 }, (_, at) => `"member-number-${at}":0`).join())
  },
  { name: 'one member again and again', path: chat, body: () => chatBody(repeated('"a":0,', largest) + '"a":0') },
  { name: 'a long name of a model', path: chat, body: () => messageBody('a', 'a'.repeat(1_000_000)) },
  { name: 'a picture in a message', path: chat, body: () => pictureBody('sandbox-chat', 26) },
  { name: 'a picture for a video', path: chat, body: () => pictureBody('sandbox-video', 10) },
  { name: 'a prompt for an image', path: '/v1/images/generations', body: () => `{"model":"sandbox-image","prompt":"${'a'.repeat(largest)}"}` },
  { name: 'a text completion', path: '/v1/completions', body: () => `{"model":"sandbox-chat","prompt":"${repeated('a b ', largest)}"}` },
  { name: 'metadata', path: chat, body: () => chatBody(`"metadata":{${Array.from({ length: 400_000 }, (_, at) => `"m${at}":"a"`).join()}}`) },
  { name: 'not JSON', path: chat, body: () => '{'.repeat(largest) }
]

/** Somewhat less than a body may cost; see `maxJsonCost`. */
const maxCost = 1_900_000

function costOf (text: string): number {
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0
  return costs.container * count(/[[{]/g) + costs.member * count(/:/g) + costs.text * count(/"/g) / 2 + costs.item * count(/,|$/g)
}

/** Conversations with as many items as a request may have, in each surface; most are translated. */
export function conversations (model: string): Attack[] {
  const text = 'word '.repeat(180)
  const list = (...items: string[]): string => {
    const all = items.join()
    const count = Math.min(maxCost / costOf(all), largest / 3 / all.length) * items.length
    return Array.from({ length: Math.floor(count) }, (_, at) => items[at % items.length]).join()
  }
  const said = `{"role":"user","content":"${text}"}`
  const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"b"}]}'
  const use = '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}'
  const call = '{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}'
  const messages = (of: string) => () => `{"model":"${model}","max_tokens":10,"messages":[${of}]}`
  const input = (of: string) => () => `{"model":"${model}","max_output_tokens":16,"input":[${of}]}`
  const bodies: [path: string, name: string, body: () => string][] = [
    ['/v1/messages', 'long texts of the user', messages(list(said))],
    ['/v1/messages', 'short texts of the user', messages(list('{"role":"user","content":"a"}'))],
    ['/v1/messages', 'system messages', messages(list('{"role":"user","content":"a"}', '{"role":"system","content":"a"}'))],
    ['/v1/messages', 'results of tools and texts', messages(list(result, '{"role":"user","content":"a"}'))],
    ['/v1/messages', 'calls of tools and results', messages(list(use, result))],
    ['/v1/messages/count_tokens', 'long texts of the user', messages(list(said))],
    ['/v1/responses', 'long texts of the user', input(list(said))],
    ['/v1/responses', 'long system messages', input(list(`{"role":"system","content":"${text}"}`))],
    ['/v1/responses', 'calls of tools', input(list('{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}'))],
    ['/v1/responses', 'results of tools and texts', input(list(
      '{"type":"function_call_output","call_id":"a","output":"b"}', '{"role":"user","content":"a"}'))],
    ['/v1/responses', 'thoughts', input(list('{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}]}'))],
    ['/v1/responses', 'texts of the model', input(list('{"role":"assistant","content":"a"}'))],
    [chat, 'long texts of the user', messages(list(said))],
    [chat, 'results of tools and texts', messages(list('{"role":"tool","tool_call_id":"a","content":"b"}', '{"role":"user","content":"a"}'))],
    [chat, 'calls of tools', messages(`{"role":"assistant","tool_calls":[${list(call)}]}`)]
  ]
  return bodies.map(([path, name, body]) => ({ name: `${name}, ${model}`, path, body }))
}

const pngHead = Buffer.from('\x89PNG\r\n\x1a\nabcd', 'latin1').toString('base64')

function pictureBody (model: string, mebibytes: number): string {
  const url = `data:image/png;base64,${pngHead}${'A'.repeat(mebibytes * 1024 * 1024)}`
  return JSON.stringify({ model, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] })
}

/** One harmless request of each kind: what a process loads for its first request is not the request's. */
export const warmUps: readonly Omit<Attack, 'name'>[] = [
  ...['sandbox-chat', 'auto'].map(model => ({ path: chat, body: () => messageBody('Hello', model) })),
  { path: chat, body: () => messageBody('Hello https://a.example/a.png\nsandbox:delay 0', 'sandbox-video') },
  { path: chat, body: () => chatBody(`"tools":[${tool}],"logprobs":true,"response_format":{"type":"json_object"}`) },
  { path: '/v1/completions', body: () => '{"model":"sandbox-chat","prompt":[1,2]}' },
  { path: '/v1/images/generations', body: () => '{"model":"sandbox-image","prompt":"a"}' },
  { path: '/v1/routing/decisions', body: () => messageBody('Hello', 'auto') }
]

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'

const gateway = await startGateway(t)
const prompt = 'Fix calc.py. Never use exec_command, shell, Bash, bash, apply_patch, Write or Edit to run `rm -rf build`.'
const texts = (...names: string[]) => ({
  type: 'object', properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])), required: names
})

async function post (path: string, body: object): Promise<{ status: number, text: string }> {
  const headers = { ...gateway.headers, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST', headers, body: JSON.stringify({ model: 'sandbox-chat', ...body })
  })
  return { status: response.status, text: await response.text() }
}

/** The beginnings of all tool calls in a response or message, whole or as events. */
const callsIn = (text: string): string[] =>
  [...text.matchAll(/"type":\s*"(?:function_call|custom_tool_call|tool_use|local_shell_call)"[^}]*/g)].map(([call]) => call)

t.test('chat completions: the tools of opencode run no words of a prompt', async t => {
  const definitions = [
    { name: 'bash', description: 'Executes a given bash command', parameters: texts('command', 'description') },
    { name: 'write', description: 'Writes a file', parameters: texts('content', 'filePath') }
  ]
  const body = { messages: [{ role: 'user', content: prompt }], tools: definitions.map(one => ({ type: 'function', function: one })) }
  const free = await post('/chat/completions', body)
  t.equal(free.status, 200)
  t.equal(JSON.parse(free.text).choices[0].finish_reason, 'stop')
  const forced = await post('/chat/completions', { ...body, tool_choice: 'required' })
  t.match(JSON.parse(forced.text).choices[0].message.tool_calls, [{ function: { name: 'bash', arguments: /^{"command":"true"/ } }])
})

t.test('responses: the tools of Codex run no words of a prompt', async t => {
  const tools = [
    { type: 'function', name: 'exec_command', description: 'Runs a command', parameters: texts('cmd'), strict: false },
    { type: 'function', name: 'shell', parameters: { type: 'object', properties: { command: { type: 'array', items: { type: 'string' } } } }, strict: false },
    { type: 'custom', name: 'apply_patch', description: 'Edits files' }
  ]
  const free = await post('/responses', { input: prompt, tools })
  t.equal(free.status, 200)
  t.same(callsIn(free.text), [])
  const streamed = await post('/responses', { input: prompt, tools, stream: true })
  t.match(streamed.text, /response\.completed/)
  t.same(callsIn(streamed.text), [])
  for (const { type, name } of tools) {
    const { status, text } = await post('/responses', { input: prompt, tools, tool_choice: { type, name } })
    t.equal(status, 200)
    const [call] = JSON.parse(text).output
    t.equal(call.name, name)
    t.match(call.arguments ?? call.input, /true|^sample input$/)
  }
})

t.test('messages: the tools of Claude Code run no words of a prompt', async t => {
  const tools = [
    { name: 'Bash', description: 'Executes a bash command', input_schema: texts('command') },
    { name: 'Write', description: 'Writes a file', input_schema: texts('file_path', 'content') },
    { name: 'Edit', description: 'Replaces text', input_schema: texts('file_path', 'old_string', 'new_string') }
  ]
  const body = { max_tokens: 500, messages: [{ role: 'user', content: prompt }], tools }
  const free = await post('/messages', body)
  t.equal(free.status, 200)
  t.same(callsIn(free.text), [])
  for (const { name } of tools) {
    const { text } = await post('/messages', { ...body, tool_choice: { type: 'tool', name } })
    const call = JSON.parse(text).content.find(({ type }: { type: string }) => type === 'tool_use')
    t.equal(call.name, name)
    t.notMatch(JSON.stringify(call.input), /rm|build|calc/)
  }
})

t.test('what Claude Code and Codex have sent leads to no call of a tool that acts', async t => {
  const read = async (name: string): Promise<object[]> =>
    JSON.parse(await readFile(join(import.meta.dirname, '..', 'fixtures', 'agents', `${name}.json`), 'utf8'))
  for (const [agent, path] of [['claude-code', '/messages'], ['codex', '/responses']] as const) {
    for (const recorded of await read(agent)) {
      const body = 'body' in recorded ? Object(recorded.body) : recorded
      const { status, text } = await post(path, { ...body, model: 'sandbox-chat' })
      t.equal(status, 200, text.slice(0, 300))
      t.notOk(callsIn(text).some(call => /"name":\s*"(Bash|Write|Edit|exec_command|write_stdin|apply_patch|Workflow)"/.test(call)))
    }
  }
})

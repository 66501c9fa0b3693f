import t from 'tap'
import type { Tool } from '../../../../schemas/openai/chat-tools.ts'
import { ajv, complete, type Fields } from './helper.ts'

/** A function whose parameters are all required texts, unless they are given as schemas. */
function tool (name: string, parameters: string[] | Record<string, object>, description = ''): Tool {
  const properties = Array.isArray(parameters)
    ? Object.fromEntries(parameters.map(name => [name, { type: 'string' }]))
    : parameters
  const schema = { type: 'object', properties, required: Object.keys(properties) }
  return { type: 'function', function: { name, description, parameters: schema } }
}

const custom = (name: string, description: string): Tool => ({ type: 'custom', custom: { name, description } })

const words = { type: 'array', items: { type: 'string' } }

const unsafe: readonly Tool[] = [
  // opencode
  tool('bash', ['command', 'description']),
  tool('edit', ['filePath', 'oldString', 'newString']),
  tool('write', ['content', 'filePath']),
  tool('patch', ['patchText']),
  // Codex
  tool('exec_command', ['cmd', 'shell', 'workdir'], 'Runs a command in a PTY'),
  tool('write_stdin', ['session_id', 'chars']),
  tool('shell', { command: words, workdir: { type: 'string' } }),
  custom('apply_patch', 'Edits files'),
  custom('exec', 'Runs JavaScript'),
  // Claude Code
  tool('Bash', ['command']),
  tool('Write', ['file_path', 'content']),
  tool('Edit', ['file_path', 'old_string', 'new_string']),
  tool('NotebookEdit', ['notebook_path', 'new_source']),
  tool('Workflow', ['script']),
  // Others
  tool('run', { input: { type: 'object', properties: { commands: words }, required: ['commands'] } }),
  tool('python', ['input']),
  tool('run_in_terminal', ['text']),
  tool('mcp__postgres__query', ['sql']),
  tool('query_database', ['query']),
  tool('evaluate', ['expression']),
  tool('launcher', ['input'], 'Runs a shell command'),
  custom('runner', 'Runs a command'),
  tool('write_file', ['path', 'content']),
  tool('delete_file', ['path']),
  tool('find_and_replace', ['path', 'text']),
  tool('upload', ['filename'])
]

const nameOf = (tool: Tool): string => tool.type === 'function' ? tool.function.name : tool.custom.name

async function callsOf (text: string, fields: Fields) {
  const { choices } = await complete(text, fields)
  return (choices[0]?.message.tool_calls ?? []).map(call => call.type === 'function'
    ? { name: call.function.name, input: call.function.arguments }
    : { name: call.custom.name, input: call.custom.input })
}

const promptFor = (name: string): string =>
  `Never use ${name} to run a command such as \`rm -rf build\` in "/home/me/calc.py" or run evaluate write shell 4711`

for (const one of unsafe) {
  const name = nameOf(one)
  t.test(`the tool ${name} ${one.type} is called only if it must be, and without words of the prompt`, async t => {
    t.same(await callsOf(promptFor(name), { tools: [one] }), [])
    const named = one.type === 'function'
      ? { type: 'function', function: { name } } as const
      : { type: 'custom', custom: { name } } as const
    for (const choice of ['required', named] as const) {
      const [call] = await callsOf(promptFor(name), { tools: [one], tool_choice: choice })
      t.equal(call?.name, name)
      t.notMatch(call?.input, /rm|build|home|calc|run|4711|Never/)
      if (one.type === 'function') t.ok(ajv.validate(one.function.parameters ?? {}, JSON.parse(call?.input ?? '')))
      else t.equal(call?.input, 'true')
    }
  })
}

t.test('a command does nothing', async t => {
  const inputOf = async (tool: Tool) => {
    const [call] = await callsOf('run `rm -rf build`', { tools: [tool], tool_choice: 'required' })
    return JSON.parse(call?.input ?? '')
  }
  t.same(await inputOf(tool('bash', ['command'])), { command: 'true' })
  t.same(await inputOf(tool('shell', { command: words })), { command: ['true'] })
  t.same(await inputOf(tool('db', ['sql'])), { sql: 'true' })
})

t.test('a tool that must be called is a safe one, if there is one', async t => {
  const weather = tool('get_weather', ['city'])
  const bash = tool('bash', ['command'])
  t.match(await callsOf('Use bash', { tools: [bash, weather], tool_choice: 'required' }), [{ name: 'get_weather' }])
})

t.test('the deprecated functions are no exception', async t => {
  const functions = [{ name: 'bash', parameters: { type: 'object', properties: { command: { type: 'string' } } } }]
  const { choices } = await complete('Use bash to run `ls`', { functions })
  t.equal(choices[0]?.message.function_call, undefined)
})

t.test('tools that read, and tools of other kinds, are called with words of the prompt', async t => {
  const safe: [Tool, string, object][] = [
    [tool('read_file', ['path']), 'read_file "calc.py"', { path: 'calc.py' }],
    [tool('Grep', ['pattern', 'path']), 'Use Grep for "TODO" in "src"', { pattern: 'TODO', path: 'src' }],
    [tool('get_weather', ['city']), 'The weather in Paris', { city: 'Paris' }],
    [tool('search', ['query']), 'search for "cats"', { query: 'cats' }],
    [tool('send_email', ['subject']), 'send an email "Hello"', { subject: 'Hello' }]
  ]
  for (const [one, text, input] of safe) {
    const [call] = await callsOf(text, { tools: [one] })
    t.same(JSON.parse(call?.input ?? 'null'), input, text)
  }
})

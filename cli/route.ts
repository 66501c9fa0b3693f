import { readFileSync } from 'node:fs'
import { InvalidArgumentError, type Command } from 'commander'
import type { ChatCompletionRequest } from '../schemas/openai/chat-completions.ts'
import type { RoutingDecision } from '../schemas/openai/routing.ts'
import { readSettings } from '../services/config/settings/settings.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { toTable } from '../services/operations/admin/format/table.ts'
import { parseList, withJson } from './options.ts'
import type { JsonOption, Session } from './session.ts'

interface ExplainOptions extends JsonOption {
  policy: string, body?: ChatCompletionRequest, candidates?: string[], url?: string, key?: string
}

/** Adds `route explain`. */
export function addRouteCommands (program: Command, session: Session, env: NodeJS.ProcessEnv): void {
  const route = program.command('route').description('inspect how `auto` chooses a model')

  withJson(route.command('explain [text]'))
    .description('ask the running gateway which model a request would go to, and why; calls no provider')
    .option('--policy <policy>', 'auto, auto:cost, auto:quality, auto:speed, or a policy of your configuration', 'auto')
    .option('--body <file>', 'read a chat completion request as JSON from a file, or from standard input with -', readBody)
    .option('--candidates <models>', 'comma-separated models to choose from; shows all of them', parseList)
    .option('--url <address>', 'the gateway; default: this machine, at HOST and PORT')
    .option('--key <key>', 'an API key, whose models are shown; default: TOLLGATE_KEY of the environment')
    .action(async (text: string | undefined, given: ExplainOptions, command: Command) => {
      const { policy, body, candidates, url, key, ...options } = given
      if (body === undefined && text === undefined) command.error('give a text or --body')
      const request = { ...body ?? { messages: [{ role: 'user' as const, content: text ?? '' }] }, model: policy }
      const decision = await callGateway({ url, key }, { ...request, candidates }, env)
      session.print(options, decision, () => report(decision))
    })
}

function readBody (file: string): ChatCompletionRequest {
  try {
    return JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'))
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

/** Asks a gateway over HTTP. Throws an Error with what it says if it refuses, or where it does not answer. */
async function callGateway (
  { url, key }: Pick<ExplainOptions, 'url' | 'key'>, question: object, env: NodeJS.ProcessEnv
): Promise<RoutingDecision> {
  const bearer = key ?? env.TOLLGATE_KEY
  if (bearer === undefined) throw new Error('Give an API key of the gateway with --key or in TOLLGATE_KEY.')
  const base = (url ?? localUrl(env)).replace(/\/+$/, '').replace(/\/v1$/, '')
  const response = await fetch(`${base}/v1/routing/decisions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(question)
  }).catch(cause => {
    throw new Error(`No gateway answers at ${base}. Start it, or give its address with --url.`, { cause })
  })
  const text = await response.text()
  if (response.ok) return JSON.parse(text)
  throw new Error(`The gateway at ${base} answers ${response.status}: ${messageIn(text)}`)
}

/** The address of a gateway with the settings of this environment. */
function localUrl (env: NodeJS.ProcessEnv): string {
  const { host, port } = readSettings(env)
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

const maxMessageChars = 2000

/** The message of an error in OpenAI's shape, else the beginning of the text. */
function messageIn (text: string): string {
  try {
    const body: { error?: { message?: unknown } } = JSON.parse(text)
    if (typeof body.error?.message === 'string') return body.error.message
  } catch {
    // Not from a gateway: the text itself says what it is.
  }
  return text.slice(0, maxMessageChars)
}

function report ({ summary, candidates, omitted }: RoutingDecision): string {
  const rest = omitted === 0 ? '' : `\n${omitted} more; --candidates '*' shows all of them.\n`
  return `${summary}\n\n${toTable(candidateColumns, candidates)}${rest}`
}

const candidateColumns: Column<RoutingDecision['candidates'][number]>[] = [
  { name: 'model', cell: ({ model }) => model },
  { name: 'quality', numeric: true, cell: ({ quality }) => quality?.toFixed(2) ?? '' },
  { name: 'basis', cell: ({ basis }) => basis ?? '' },
  { name: 'cost', numeric: true, cell: ({ cost_usd: cost }) => cost?.toFixed(6) ?? '' },
  { name: 'ms', numeric: true, cell: ({ latency_ms: ms }) => ms?.toFixed(0) ?? '' },
  { name: 'score', numeric: true, cell: ({ score }) => score?.toFixed(3) ?? '' },
  { name: 'excluded by', cell: ({ excluded_by: constraint }) => constraint ?? '' }
]

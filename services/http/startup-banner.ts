import type { ModelConfig } from '../config/catalogue/types.ts'

interface WelcomeOptions {
  /** The address listened on, e.g. `http://127.0.0.1:8080`. */
  address: string
  firstKey: string | null
  models: readonly ModelConfig[]
  hasConsole: boolean
  /** Ids of the models that are refused for want of a price. */
  unpriced?: readonly string[]
  /** Probable mistakes of the configuration. */
  warnings?: readonly string[]
}

/** What to do about models without a price. */
export const unpricedAdvice = 'chat models without a price are refused; `unpriced: family` in gateway.yaml sells them ' +
  'at the dearest price of their family, and `npx tollgate catalogue update` fetches newer prices'

const shownModels = 8

/**
 * The message for a new user: base URL, first key with a command to paste, console, and how to create keys.
 * The first key is a user's; the console needs an owner's key to show the whole gateway.
 */
export function welcome (
  { address, firstKey, models, hasConsole, unpriced = [], warnings = [] }: WelcomeOptions
): string {
  const baseUrl = `${address}/v1`
  const model = models.find(({ kind }) => kind === 'chat')?.id ?? 'auto'
  const lines = ['', `Tollgate serves ${baseUrl}`, '']
  if (firstKey !== null) {
    lines.push(`Your first API key, shown only once:  ${firstKey}`, '', 'Try it:', '', curl(baseUrl, firstKey, model), '')
  }
  if (hasConsole) lines.push(`The console:                            ${address}/console`)
  lines.push(
    'Another API key:                        npx tollgate keys create',
    'An owner\'s key, for the whole gateway:  npx tollgate keys create --role owner', ''
  )
  if (unpriced.length > 0) {
    const more = unpriced.length > shownModels ? ', …' : ''
    lines.push(`${unpriced.length} ${unpricedAdvice}:`, `  ${unpriced.slice(0, shownModels).join(', ')}${more}`, '')
  }
  if (warnings.length > 0) lines.push('Please check:', ...warnings.map(warning => `  ${warning}`), '')
  return `${lines.join('\n')}\n`
}

const portVariables = ['ALT_PORT', 'TOLLGATE_METRICS_PORT']

/** Adds advice on choosing another port to an address-in-use error; returns other errors unchanged. */
export function withPortAdvice (error: unknown, env: NodeJS.ProcessEnv): unknown {
  if (!(error instanceof Error && 'port' in error && 'code' in error && error.code === 'EADDRINUSE')) return error
  const variable = portVariables.find(name => env[name] === String(error.port)) ?? 'PORT'
  const advice = `${variable}=${Number(error.port) + 1} npm start`
  return new Error(`${error.message}. Choose another port: ${advice}`, { cause: error })
}

/** The operator chose the model's name: single quotes would end the shell's string, so they are removed. */
function curl (baseUrl: string, key: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'What is a gateway?' }] }).replaceAll("'", '')
  return `curl ${baseUrl}/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`
}

import type { ModelConfig } from '../catalogue/types.ts'

interface WelcomeOptions {
  /** The address listened on, e.g. `http://127.0.0.1:8080`. */
  address: string
  firstKey: string | null
  models: readonly ModelConfig[]
  hasConsole: boolean
}

/** What a new user needs: the base URL, the first key, a command that works when pasted, and the console. */
export function welcome ({ address, firstKey, models, hasConsole }: WelcomeOptions): string {
  const baseUrl = `${address}/v1`
  const model = models.find(({ kind }) => kind === 'chat')?.id ?? 'auto'
  const lines = ['', `Tollgate serves ${baseUrl}`, '']
  if (firstKey !== null) {
    lines.push(`Your first API key, shown this once:  ${firstKey}`, '', 'Try it:', '', curl(baseUrl, firstKey, model), '')
    if (hasConsole) lines.push(`Or in a browser, with the same key: ${address}/console`, '')
  }
  return `${lines.join('\n')}\n`
}

/** The model's name is operator's text: single quotes end the shell's string, so they are left out. */
function curl (baseUrl: string, key: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'What is a gateway?' }] }).replaceAll("'", '')
  return `curl ${baseUrl}/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`
}

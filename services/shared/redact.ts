import { UpstreamError } from './errors.ts'

/** Longer texts are cut before they are searched. */
const maxSearched = 4_000
const maxWords = 500

/**
 * A text of a provider without what is the operator's: keys, tokens, addresses of servers, e-mail addresses,
 * and ids of organizations and projects. At most `maxLength` UTF-16 units and an ellipsis,
 * valid Unicode in one line. It is a filter of known forms: what looks like ordinary text passes.
 */
export function redacted (text: string, maxLength: number): string {
  // What is cut in two is not recognized any more.
  const whole = text.length > maxSearched ? text.slice(0, maxSearched).replace(/\S+$/, '') : text
  let clean = whole.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  for (const [pattern, by] of rules) clean = clean.replace(pattern, by)
  return cut(clean, maxLength)
}

/**
 * What a provider said, for operators: redacted, and without long quotations, which may repeat the prompt.
 * Servers that run pydantic repeat the refused `input`.
 */
export function providerWords ({ message }: Pick<UpstreamError, 'message'>): string {
  const text = message.slice(0, maxSearched)
    .replace(/(["']?\binput(?:_value)?["']?\s*[:=]).*/s, '$1 …')
    .replace(/(["'`])(?:(?!\1)[^\\]|\\.){80,}?\1/gs, '$1…$1')
  return redacted(text, maxWords)
}

/** An error as the log may have it: a provider's with redacted words, or without any. */
export function loggable (error: unknown, keepsWords: boolean): unknown {
  if (!(error instanceof UpstreamError)) return error
  const { kind, sent, details: { status, code, cause } } = error
  const words = keepsWords ? providerWords(error) : 'A call of a provider failed.'
  return new UpstreamError(kind, sent, words, { status, code: plainCode(code), cause })
}

/** A provider's `code` or `type` if it is a plain word, else null. */
export function plainCode (code: string | null | undefined): string | null {
  return code != null && /^[\w.:-]{1,100}$/.test(code) && redacted(code, 100) === code ? code : null
}

const secret = '[redacted]'
const server = '[server]'

/** Sites whose pages explain errors: addresses there say nothing about the operator. */
const publicSites = new RegExp(`^(?:[\\w-]+\\.)*(?:${(
  'openai.com anthropic.com claude.com google.com google.dev aka.ms microsoft.com mistral.ai groq.com together.ai openrouter.ai ' +
  'x.ai deepseek.com fireworks.ai cerebras.ai perplexity.ai nvidia.com huggingface.co moonshot.ai ' +
  'pydantic.dev vllm.ai github.com fal.ai replicate.com'
).split(' ').map(RegExp.escape).join('|')})$`)

function address (url: string): string {
  const { protocol = '', host = '', path = '' } =
    /^(?<protocol>[a-z+]+:\/\/)(?:[^/?#@]*@)?(?<host>[^/?#:]*)(?<path>[^?#]*)/i.exec(url)?.groups ?? {}
  return publicSites.test(host.toLowerCase()) ? `${protocol}${host}${path}` : server
}

const hasDigit = (text: string): boolean => /\d/.test(text)

/** Each takes linear time. The order matters: an address may hold a key. */
const rules: readonly [RegExp, (found: string, ...groups: string[]) => string][] = [
  [/\b[a-z][a-z+]{1,9}:\/\/[^\s"'<>`)\]}]+/gi, address],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g, () => '[e-mail]'],
  // Named values, as in a header, JSON or a query.
  [new RegExp('\\b((?:proxy-)?authorization|(?:x-)?(?:goog-)?api[-_ ]?key(?: provided)?|(?:access|auth|id|refresh)?[-_ ]?token|' +
    '(?:client[-_ ]?)?secret|password|credentials?)\\b(["\'`]?\\s*[:=]\\s*["\'`]?)(?:(?:bearer|basic|key)\\s+)?[^\\s"\'`,;}&]+', 'gi'),
  (_, name = '', sign = '') => `${name}${sign}${secret}`],
  [/\b(bearer|basic)\s+[\w.~+/=*-]{8,}/gi, (found, scheme = '') =>
    hasDigit(found) || found.length > 24 ? `${scheme} ${secret}` : found],
  [/\b(?:sk|rk|gsk|xai|pplx|nvapi|csk|tgp|hf|r8|ghp|glpat|whsec|AIza|AKIA|ASIA|ya29|eyJ)[-_.*\w]{5,}/g, () => secret],
  [/\b(?:org|proj|organization|project|acct|account|workspace|tenant|team|user)[-_][A-Za-z0-9]{6,}/g, found =>
    hasDigit(found) ? secret : found],
  [/\b(organizations?|projects?|workspaces?|tenants?|teams?|accounts?)([ /](?:id |number )?["'`:]?\s?)[\w-]*\d[\w-]{4,}/gi,
    (_, name = '', sign = '') => `${name}${sign}${secret}`],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, () => secret],
  // Addresses without a protocol.
  [/\b(host(?:name)?\s?[=:]\s?["']?|lookup |dial tcp |connect(?:ion)? to |ENOTFOUND |ECONNREFUSED )[\w.:[\]-]+/gi, (_, name = '') =>
    `${name}${server}`],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, () => server],
  [/(?<![\w:])\[?(?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4}){1,2}\]?(?::\d{1,5})?/gi, () => server],
  [/\blocalhost(?::\d{1,5})?\b/gi, () => server],
  [/\b[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.(?:internal|local|localdomain|lan|corp|intra|intranet|home|svc|consul|arpa)(?::\d{1,5})?\b/gi,
    () => server],
  [/\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8}\.[a-z]{2,24}:\d{2,5}\b/gi, () => server],
  [/\b[\w-]{1,63}\.(?:openai\.azure|cognitiveservices\.azure|services\.ai\.azure|azure-api)\.(?:com|net)\b/gi, () => server],
  // Any other long run of letters and digits, save ids of what the client has sent or received.
  [/(?:\b(?:call|toolu|chatcmpl(?:-tool)?|cmpl|req|resp|msg|rs|fc|file|gen)[-_])?[A-Za-z0-9]{24,}/g, found =>
    /[-_]/.test(found) || !hasDigit(found) || !/[A-Za-z]/.test(found) ? found : secret]
]

function cut (text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')}…` : text
}
